# s390x is big-endian: its tests check that files and results do not depend on byte order.
set(machine s390x)
set(triple s390x-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
