# arm has 32 bits: here it is proved that sizes do not depend on those of the machine.
set(machine arm)
set(triple arm-linux-gnueabihf)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
