#include <chrono>
#include <concepts>
#include <string>
#include <thread>
#include <variant>

#include "weft/gpu/cuda/runtime/cuda_status.h"
#include "weft/gpu/cuda/runtime/kept_buffers.h"
#include "weft/gpu/cuda/runtime/nccl_ranks.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/cuda/runtime/step_kernels.h"
#include "weft/gpu/device_info.h"
#include "weft/kernels/linear/linear_library_cuda.h"

namespace weft::cuda {
namespace {

static_assert(static_cast<int>(kOutOfMemory) == cudaErrorMemoryAllocation);
static_assert(static_cast<int>(kNotReady) == cudaErrorNotReady);
static_assert(static_cast<int>(kLaunchFailure) == cudaErrorLaunchFailure);

// Older GPUs have neither bf16 nor asynchronous copies to shared memory.
constexpr int kOldestMajor = 8;

// How often a waiting rank checks whether another rank is lost.
constexpr std::chrono::milliseconds kLookForRanks{1};

Status take_pinned_memory(std::byte*& memory, std::size_t bytes) {
  void* taken = nullptr;
  const auto status = cudaHostAlloc(&taken, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  memory = static_cast<std::byte*>(taken);
  // A refused allocation is no failure of the context, so the next call must not report it.
  if (status == cudaErrorMemoryAllocation) static_cast<void>(cudaGetLastError());
  return status_of(status);
}

/// Shared by all GPUs of the process.
KeptBuffers& kept_load_buffers() {
  static KeptBuffers buffers(
      [](std::byte*& memory) { return take_pinned_memory(memory, kLoadBufferBytes); });
  return buffers;
}

/// CUDA itself. A launch returns at once whether it could be launched. A later call returns the
/// failure of the launched work.
class RealRuntime final : public Runtime {
 public:
  explicit RealRuntime(int index, const cudaDeviceProp& properties)
      : index_(index),
        properties_{properties.name, properties.multiProcessorCount,
                    properties.major * 10 + properties.minor, properties.l2CacheSize,
                    weft::cuda::multiplies_codes(properties.major * 10 + properties.minor)} {}

  [[nodiscard]] std::string describe(Status status) const override {
    if (status == kRankLost) return "another rank of the model was lost";
    if (is_nccl(status)) return describe_nccl(status);
    return cudaGetErrorString(static_cast<cudaError_t>(status));
  }
  [[nodiscard]] Properties properties() const override { return properties_; }
  Status use() override { return status_of(cudaSetDevice(index_)); }

  Status free_memory(std::size_t& bytes) override {
    std::size_t total = 0;
    return status_of(cudaMemGetInfo(&bytes, &total));
  }
  Status allocate(std::byte*& memory, std::size_t bytes) override {
    void* taken = nullptr;
    const auto status = cudaMalloc(&taken, bytes);
    memory = static_cast<std::byte*>(taken);
    // A refused allocation is no failure of the context, so the next call must not report it.
    if (status == cudaErrorMemoryAllocation) static_cast<void>(cudaGetLastError());
    return status_of(status);
  }
  void release(std::byte* memory) noexcept override { static_cast<void>(cudaFree(memory)); }
  Status allocate_pinned(std::byte*& memory, std::size_t bytes) override {
    return take_pinned_memory(memory, bytes);
  }
  void release_pinned(std::byte* memory) noexcept override {
    static_cast<void>(cudaFreeHost(memory));
  }
  Status take_load_buffer(std::byte*& memory) override { return kept_load_buffers().take(memory); }
  void give_back_load_buffer(std::byte* memory) noexcept override {
    kept_load_buffers().give_back(memory);
  }
  [[nodiscard]] KeptBuffers& load_buffers() const override { return kept_load_buffers(); }

  Status make_stream(Stream& stream) override {
    return status_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  void release(Stream stream) noexcept override { static_cast<void>(cudaStreamDestroy(stream)); }
  Status make_event(Event& event) override {
    return status_of(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  Status make_timing_event(Event& event) override { return status_of(cudaEventCreate(&event)); }
  void release(Event event) noexcept override { static_cast<void>(cudaEventDestroy(event)); }
  Status record(Event event, Stream stream) override {
    return status_of(cudaEventRecord(event, stream));
  }
  Status wait(Event event) override { return status_of(cudaEventSynchronize(event)); }
  Status wait(Stream stream, Event event) override {
    return status_of(cudaStreamWaitEvent(stream, event, 0));
  }
  Status elapsed(Event from, Event to, float& milliseconds) override {
    return status_of(cudaEventElapsedTime(&milliseconds, from, to));
  }
  Status query(Stream stream) override { return status_of(cudaStreamQuery(stream)); }
  Status synchronize(Stream stream) override {
    if (!ranks_ || has_left_) return status_of(cudaStreamSynchronize(stream));
    for (auto look = Clock::now() + kLookForRanks;; std::this_thread::yield()) {
      const Status status = query(stream);
      if (status != kNotReady) return status;
      if (Clock::now() < look) continue;
      if (const Status state = ranks_state(); state != Status::kSuccess) return state;
      look = Clock::now() + kLookForRanks;
    }
  }

  Status copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes,
                        Stream stream) override {
    return status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  }
  Status copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes,
                      Stream stream) override {
    return status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  }
  Status copy_on_device(std::byte* to, const std::byte* from, std::size_t bytes,
                        Stream stream) override {
    return status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  Status clear(std::byte* memory, std::size_t bytes, Stream stream) override {
    return status_of(cudaMemsetAsync(memory, 0, bytes, stream));
  }

  Status begin_capture(Stream stream) override {
    return status_of(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }
  Status end_capture(Stream stream, Graph& graph) override {
    cudaGraph_t recorded = nullptr;
    auto status = cudaStreamEndCapture(stream, &recorded);
    if (status == cudaSuccess) status = cudaGraphInstantiate(&graph, recorded, 0);
    if (recorded != nullptr) static_cast<void>(cudaGraphDestroy(recorded));
    if (status == cudaSuccess) status = cudaGraphUpload(graph, stream);
    return status_of(status);
  }
  Status launch(Graph graph, Stream stream) override {
    return status_of(cudaGraphLaunch(graph, stream));
  }
  void release(Graph graph) noexcept override { static_cast<void>(cudaGraphExecDestroy(graph)); }

  Status join(const CudaRank& place) override { return NcclRanks::join(place, ranks_); }
  Status ranks_state() override { return ranks_ ? ranks_->state() : Status::kSuccess; }
  void abandon() noexcept override {
    if (ranks_) ranks_->abandon();
  }
  void leave() noexcept override {
    if (ranks_) ranks_->leave();
    has_left_ = true;
  }

  [[nodiscard]] bool can(LinearWay way, const DeviceMatrix& weight, std::int64_t tokens,
                         const EpilogueSteps& steps) const override {
    return cuda::can(way, weight, tokens, steps);
  }

 private:
  using Clock = std::chrono::steady_clock;

  Status run_any(AnyCudaParams params, Stream stream) override {
    return std::visit([&](const auto* of_op) { return run_op(*of_op, stream); }, params);
  }

  template <class Params>
    requires std::invocable<OpLaunchers, const Params&, Stream>
  static Status run_op(const Params& params, Stream stream) {
    return OpLaunchers()(params, stream);
  }
  Status run_op(const CudaLinearParams& params, Stream stream) {
    if (!linear_) linear_ = std::make_unique<LinearEngine>();
    return linear_->run(params, stream);
  }
  template <class Params>
    requires requires(NcclRanks& ranks, const Params& params) { ranks.run(params, Stream()); }
  Status run_op(const Params& params, Stream stream) {
    return ranks_ ? ranks_->run(params, stream) : kRankLost;
  }

  const int index_;
  const Properties properties_;
  std::unique_ptr<LinearEngine> linear_;  // constructed on the thread that computes
  std::unique_ptr<NcclRanks> ranks_;      // null unless this GPU is a rank
  bool has_left_ = false;
};

}  // namespace

Result<std::unique_ptr<Runtime>> open_runtime(int index) {
  cudaDeviceProp properties{};
  if (const auto status = cudaGetDeviceProperties(&properties, index); status != cudaSuccess) {
    return Error{DeviceErrc::kDriver,
                 "cuda:" + std::to_string(index) + ": " + cudaGetErrorString(status)};
  }
  if (properties.major < kOldestMajor) {
    return Error{DeviceErrc::kUnfit,
                 "cuda:" + std::to_string(index) + ", an sm_" + std::to_string(properties.major) +
                     std::to_string(properties.minor) + ": the oldest that runs models is sm_80"};
  }
  if (const auto library = load_linear_library(); !library) {
    return Error{DeviceErrc::kUnfit,
                 "cuda:" + std::to_string(index) + ": " + library.error().detail};
  }
  return std::make_unique<RealRuntime>(index, properties);
}

}  // namespace weft::cuda
