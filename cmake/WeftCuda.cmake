# Finds CUDA and NCCL. Sets WEFT_HAS_CUDA and WEFT_HAS_NCCL; without them everything else builds and works.

set(WEFT_HAS_CUDA OFF)
set(WEFT_HAS_NCCL OFF)

if(NOT WEFT_CUDA STREQUAL OFF)
  # Stated before the language is enabled: CMake's own first guess is an architecture that CUDA 13 has dropped.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90a)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # nvcc 12 and later have it; CMake 3.25 does not know
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(WEFT_HAS_CUDA ON)
  elseif(WEFT_CUDA STREQUAL ON)
    message(FATAL_ERROR "WEFT_CUDA=ON, and no nvcc was found: put it on PATH, set CMAKE_CUDA_COMPILER, "
                        "or build without a GPU (WEFT_CUDA=AUTO or OFF).")
  endif()
endif()

if(WEFT_HAS_CUDA)
  find_package(NCCL QUIET)
  set(WEFT_HAS_NCCL ${NCCL_FOUND})
endif()
message(STATUS "weft: CUDA ${WEFT_HAS_CUDA}, NCCL ${WEFT_HAS_NCCL}")
