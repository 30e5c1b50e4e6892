# aarch64 has NEON: its tests compare the NEON code with the portable code.
set(machine aarch64)
set(triple aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
