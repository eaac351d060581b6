#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda_types.h"

/// What every kernel's launch has in common. Only *_cuda.cu include it.
namespace weft::cuda {

[[nodiscard]] inline Status status_of(cudaError_t error) { return static_cast<Status>(error); }

/// Waits until all that the kernels before it in the stream have written can be seen. Every kernel
/// calls it before it touches what is not constant (weights are), and every thread that reads or
/// writes such memory.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The next kernel's blocks may be started wherever there is room; they wait for this one's end
/// before they read what it writes.
__device__ inline void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Starts a kernel such that it may begin while its predecessor ends (programmatic dependent
/// launch), in clusters of so many blocks (above 1 on sm_90 and later). Returns what the launch
/// says; what goes wrong later is the stream's to tell.
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_clusters(unsigned cluster, void (*kernel)(Parameters...), dim3 grid,
                                     dim3 block, std::size_t shared_bytes, Stream stream,
                                     Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : 1;
  return status_of(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                            std::size_t shared_bytes, Stream stream, Arguments&&... arguments) {
  return launch_clusters(1, kernel, grid, block, shared_bytes, stream, arguments...);
}

}  // namespace weft::cuda
