#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/cuda/instructions_cuda.cuh"

/// Launches kernels. Only *_cuda.cu include this file.
namespace weft::cuda {

[[nodiscard]] inline Status status_of(cudaError_t error) { return static_cast<Status>(error); }

/// Whether the code that runs on the current device was compiled for sm_90 or later, so that it
/// waits for its predecessor and has clusters. A GPU newer than every compiled architecture runs
/// code that the driver translates from sm_80's, which has neither. `kernel` is any kernel of Weft.
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
/// launch), in clusters of `cluster` blocks (above 1 only if has_hopper_code()). Returns the
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
