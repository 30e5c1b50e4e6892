# aarch64 has NEON: here it is proved that its code and the portable one agree.
set(machine aarch64)
set(triple aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
