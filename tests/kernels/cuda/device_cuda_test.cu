#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "weft/tests/kernels/cuda/device_cuda_test.h"

namespace weft::cuda::test {
namespace {

/// The first error, which later ones follow from.
class Errors {
 public:
  void note(cudaError_t error) {
    if (first_ == cudaSuccess) first_ = error;
  }
  void note(Status status) { note(static_cast<cudaError_t>(status)); }
  [[nodiscard]] const char* text() const {
    return first_ == cudaSuccess ? nullptr : cudaGetErrorString(first_);
  }

 private:
  cudaError_t first_ = cudaSuccess;
};

}  // namespace

bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

const char* run(const std::function<Status(Stream)>& ops) {
  Errors errors;
  cudaStream_t stream = nullptr;
  errors.note(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  errors.note(ops(stream));
  errors.note(cudaStreamSynchronize(stream));
  errors.note(cudaStreamDestroy(stream));
  return errors.text();
}

const char* run_as_graph(const std::function<Status(Stream)>& ops) {
  Errors errors;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  errors.note(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  errors.note(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  errors.note(ops(stream));
  errors.note(cudaStreamEndCapture(stream, &graph));
  errors.note(cudaGraphInstantiate(&replay, graph, 0));
  errors.note(cudaGraphLaunch(replay, stream));
  errors.note(cudaStreamSynchronize(stream));
  errors.note(cudaGraphExecDestroy(replay));
  errors.note(cudaGraphDestroy(graph));
  errors.note(cudaStreamDestroy(stream));
  return errors.text();
}

DeviceBytes::DeviceBytes(std::size_t bytes) : size_(bytes) {
  void* data = nullptr;
  if (cudaMalloc(&data, std::max<std::size_t>(bytes, 1)) != cudaSuccess) std::abort();
  data_ = static_cast<std::byte*>(data);
}

DeviceBytes::DeviceBytes(std::span<const std::byte> bytes) : DeviceBytes(bytes.size()) {
  if (cudaMemcpy(data_, bytes.data(), size_, cudaMemcpyHostToDevice) != cudaSuccess) std::abort();
  // From memory that is not page-locked it may return before the last bytes are there, and streams
  // that ops run in do not wait for it.
  if (cudaDeviceSynchronize() != cudaSuccess) std::abort();
}

DeviceBytes::~DeviceBytes() { cudaFree(data_); }

DeviceBytes::DeviceBytes(DeviceBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

void DeviceBytes::read(std::span<std::byte> to) const {
  if (cudaMemcpy(to.data(), data_, to.size(), cudaMemcpyDeviceToHost) != cudaSuccess) std::abort();
}

}  // namespace weft::cuda::test
