# For scripts/cross-check: builds for ARM64 with the distribution's cross compiler. WEFT_SYSROOT names a folder with the
# distribution's packages for ARM64, unpacked.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# What CMake compiles to look at the compiler reads this file as well.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_SYSROOT)
set(CMAKE_SYSROOT ${WEFT_SYSROOT})

# Programs come from this machine, libraries from the target machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${WEFT_SYSROOT})
