# Finds CUDA and NCCL. Sets WEFT_HAS_CUDA and WEFT_HAS_NCCL; without them everything else builds and works. Of NVIDIA's
# libraries only the runtime is linked, statically; cuBLASLt and NCCL are loaded when a GPU is asked for
# (core/io/shared_library.h), so that a program without one neither needs nor pays for them.

set(WEFT_HAS_CUDA OFF)
set(WEFT_HAS_NCCL OFF)

# Sets VARIABLE to the architectures of the GPUs that are here, as 80 or 90a; to 90a where none is.
function(weft_gpu_of_this_machine variable)
  set(found 90a)
  find_program(WEFT_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(WEFT_NVIDIA_SMI)
  if(WEFT_NVIDIA_SMI)
    execute_process(
      COMMAND ${WEFT_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE capabilities
      RESULT_VARIABLE failed ERROR_QUIET
    )
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
    if(NOT failed AND capabilities)
      string(REPLACE "." "" found "${capabilities}")
      list(REMOVE_DUPLICATES found)
      # Only sm_90 has kernels of its own that no later architecture runs.
      list(TRANSFORM found REPLACE "^90$" "90a")
    endif()
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

if(NOT WEFT_CUDA STREQUAL OFF)
  # Stated before the language is enabled: CMake's own first guess is an architecture that CUDA 13 has dropped. One
  # architecture, since each costs minutes: this machine's GPU, or where there is none what the kernels are written for.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    weft_gpu_of_this_machine(CMAKE_CUDA_ARCHITECTURES)
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
  find_path(WEFT_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(WEFT_NCCL_INCLUDE_DIR)
  if(WEFT_NCCL_INCLUDE_DIR)
    set(WEFT_HAS_NCCL ON)
  endif()
endif()
message(STATUS "weft: CUDA ${WEFT_HAS_CUDA} ${CMAKE_CUDA_ARCHITECTURES}, NCCL ${WEFT_HAS_NCCL}")
