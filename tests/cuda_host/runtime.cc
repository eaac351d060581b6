#include "weft/tests/cuda_host/runtime.h"

#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "weft/tests/cuda_host/shared_memory.h"

namespace weft::cuda_host {
namespace {

constexpr std::size_t kAlignment = 256;  // of cudaMalloc()
constexpr int kPlainShared = 48 << 10;   // that a kernel may have unless it is allowed more

std::map<const void*, int>& allowed_shared() {
  static std::map<const void*, int> bytes;
  return bytes;
}

Index index_of(const dim3& size) { return {size.x, size.y, size.z}; }

}  // namespace

cudaError_t allow_shared(const void* kernel, cudaFuncAttribute /*which*/, int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kMostDynamicBytes)
    return cudaErrorInvalidValue;
  allowed_shared()[kernel] = bytes;
  return cudaSuccess;
}

cudaError_t launch_or_capture(const cudaLaunchConfig_t& config, const void* kernel,
                              std::function<void()> body) {
  Launch launch{.grid = index_of(config.gridDim),
                .block = index_of(config.blockDim),
                .shared_bytes = config.dynamicSmemBytes,
                .kernel = kernel,
                .body = std::move(body)};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      launch.cluster = config.attrs[i].val.clusterDim.x;
    }
  }
  const auto allowed = allowed_shared().find(kernel);
  const int most = allowed == allowed_shared().end() ? kPlainShared : allowed->second;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  const bool has_blocks = launch.grid.x > 0 && launch.grid.y > 0 && launch.grid.z > 0;
  constexpr unsigned kMostBlocks = 65'535;  // of y and z
  if (!has_blocks || launch.grid.y > kMostBlocks || launch.grid.z > kMostBlocks ||
      blocks_of_processor(threads, launch.shared_bytes) == 0 ||
      launch.shared_bytes > static_cast<std::size_t>(std::max(most, kPlainShared)) ||
      launch.grid.x % launch.cluster != 0) {
    return cudaErrorInvalidValue;
  }
  if (config.stream != nullptr && config.stream->capture != nullptr) {
    config.stream->capture->emplace_back([launch = std::move(launch)] { run(launch); });
  } else {
    run(launch);
  }
  return cudaSuccess;
}

}  // namespace weft::cuda_host

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  constexpr std::size_t kAlignment = weft::cuda_host::kAlignment;
  return posix_memalign(memory, kAlignment, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  if (bytes > 0) std::memset(to, byte, bytes);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int /*device*/) {
  switch (which) {
    case cudaDevAttrMultiProcessorCount:
      *value = weft::cuda_host::kProcessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(weft::cuda_host::most_dynamic_bytes()) + (1 << 10);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(weft::cuda_host::most_dynamic_bytes());
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "success" : "an error of tests/cuda_host";
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned /*version*/,
                                             unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* result) {
  const bool is_known = std::string_view(name) == "cuTensorMapEncodeTiled";
  *found = is_known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  *result = is_known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointNotFound;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  return cudaStreamCreate(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  stream->capture = new CudaHostGraph;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->capture, nullptr);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  *made = new CudaHostGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t /*stream*/) {
  for (const auto& launch : *graph) launch();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
