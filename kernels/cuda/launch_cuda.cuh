#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"

/// Launching of kernels. Only *_cuda.cu include this file.
namespace weft::cuda {

[[nodiscard]] inline Status status_of(cudaError_t error) { return static_cast<Status>(error); }

/// Waits until the writes of all preceding kernels of the stream are visible. In every kernel, each
/// thread that reads or writes memory that is not constant (weights are constant) calls it before
/// it does so.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets blocks of the next kernel start wherever there is room; they wait for this kernel's end
/// before they read its results.
__device__ inline void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Whether the code that runs on the current device was compiled for sm_90 or later, and so has the
/// two functions above and clusters. A GPU newer than every compiled architecture runs code that
/// the driver translates from sm_80's, which lacks them. `kernel` is any kernel of ours.
[[nodiscard]] inline bool has_hopper_code(const void* kernel) {
  enum : signed char { kUnknown, kYes, kNo };
  constexpr int kDevices = 64;
  static std::atomic<signed char> known[kDevices];
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= kDevices) return false;
  signed char has = known[device].load(std::memory_order_relaxed);
  if (has == kUnknown) {
    constexpr int kHopper = 90;
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return false;
    has = attributes.ptxVersion >= kHopper ? kYes : kNo;
    known[device].store(has, std::memory_order_relaxed);
  }
  return has == kYes;
}

/// Launches a kernel so that it may begin while its predecessor ends (programmatic dependent
/// launch), in clusters of so many blocks (above 1 only where has_hopper_code()). Returns the
/// launch's status; the stream reports errors of the kernel's execution.
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_clusters(unsigned cluster, void (*kernel)(Parameters...), dim3 grid,
                                     dim3 block, std::size_t shared_bytes, Stream stream,
                                     Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster, 1, 1};
  // Code that cannot wait for the predecessor must not start before the predecessor ends.
  const bool may_overlap = has_hopper_code(reinterpret_cast<const void*>(kernel));
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = !may_overlap ? 0 : cluster > 1 ? 2 : 1;
  return status_of(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                            std::size_t shared_bytes, Stream stream, Arguments&&... arguments) {
  return launch_clusters(1, kernel, grid, block, shared_bytes, stream, arguments...);
}

}  // namespace weft::cuda
