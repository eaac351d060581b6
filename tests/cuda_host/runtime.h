#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/tests/cuda_host/machine.h"

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

/// CUDA's runtime over the host's memory, as far as kernels and their tests call it. A launch runs
/// at once, or, while its stream is captured, when the graph is launched.

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorSharedObjectInitFailed = 303,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999,
};
using cudaError = cudaError_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointNotFound };
enum : unsigned { cudaStreamNonBlocking = 1 };
enum : unsigned long long { cudaEnableDefault = 0 };

struct dim3 {
  // NOLINTNEXTLINE(google-explicit-constructor): a number is a size, as in CUDA
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
};

/// A graph: its launches, in their order.
using CudaHostGraph = std::vector<std::function<void()>>;
struct CUstream_st {
  CudaHostGraph* capture = nullptr;  ///< while it is captured
};
using cudaStream_t = CUstream_st*;
using cudaGraph_t = CudaHostGraph*;
using cudaGraphExec_t = CudaHostGraph*;

enum cudaLaunchAttributeID {
  cudaLaunchAttributeProgrammaticStreamSerialization,
  cudaLaunchAttributeClusterDimension,
};
struct cudaLaunchAttribute {
  struct Dimension {
    unsigned x, y, z;
  };
  struct Value {
    int programmaticStreamSerializationAllowed;
    Dimension clusterDim;
  };
  cudaLaunchAttributeID id;
  Value val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
struct cudaFuncAttributes {
  int ptxVersion = 0;
};

cudaError_t cudaMalloc(void** memory, std::size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  void* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, bytes);
  *memory = static_cast<T*>(made);
  return error;
}
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* to, int byte, std::size_t bytes);

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result);

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

namespace weft::cuda_host {

/// Up to 48 KiB, or what was allowed.
cudaError_t allow_shared(const void* kernel, cudaFuncAttribute which, int bytes);
cudaError_t launch_or_capture(const cudaLaunchConfig_t& config, const void* kernel,
                              std::function<void()> body);

}  // namespace weft::cuda_host

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel* /*kernel*/) {
  attributes->ptxVersion = 90;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute which, int value) {
  return weft::cuda_host::allow_shared(reinterpret_cast<const void*>(kernel), which, value);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel* /*kernel*/,
                                                          int threads, std::size_t bytes) {
  *blocks = weft::cuda_host::blocks_of_processor(static_cast<unsigned>(threads), bytes);
  return cudaSuccess;
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return weft::cuda_host::launch_or_capture(
      *config, reinterpret_cast<const void*>(kernel),
      [kernel, parameters = std::tuple<std::remove_cvref_t<Parameters>...>(
                   std::forward<Arguments>(arguments)...)] { std::apply(kernel, parameters); });
}

// NOLINTEND(readability-identifier-naming)
