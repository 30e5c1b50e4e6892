# Debian's cross compilers with qemu as the emulator; included by a file that sets
# `machine`, as qemu calls it, and `triple`, as gcc does.
#
#   cmake -S . -B build-MACHINE -DCMAKE_TOOLCHAIN_FILE=cmake/MACHINE.cmake -DTAMIS_CROSS_ROOT=DIR
#
# DIR holds libxxhash and libcmocka for the machine: `scripts/setup cross MACHINE DIR`
# downloads and unpacks them there.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${machine})
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${machine} -L /usr/${triple})

set(TAMIS_CROSS_ROOT "" CACHE PATH "a directory with Debian's packages for the machine")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TAMIS_CROSS_ROOT)
set(CMAKE_FIND_ROOT_PATH /usr/${triple} ${TAMIS_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
