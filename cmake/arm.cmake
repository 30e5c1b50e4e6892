# arm has 32 bits: its tests check that no size depends on the word size of the machine.
set(machine arm)
set(triple arm-linux-gnueabihf)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
