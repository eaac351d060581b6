#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/gpu/ranks/shared_ranks.h"

namespace weft::test {

/// How a FakeRuntime does its work.
enum class FakeWork {
  kDone,
  kPending,  ///< it is not done, and queries say so
  kLost,     ///< it is not done, and queries say it is
};

/// The state of a FakeRuntime that a test reads and sets, also after giving the runtime away.
struct FakeGpu {
  std::int64_t calls = 0;     ///< that could fail
  std::int64_t fail_at = -1;  ///< this call fails
  cuda::Status failure = cuda::kLaunchFailure;
  bool sticky = true;  ///< and so does every call after it
  FakeWork work = FakeWork::kDone;
  std::size_t memory = std::size_t{1} << 30U;
  std::size_t taken = 0;   ///< allocations that were not given back
  std::size_t pinned = 0;  ///< the same of page-locked memory
  std::int64_t launches = 0;
  std::int64_t graphs = 0;   ///< launches that are graphs
  std::int64_t decoded = 0;  ///< products by matrices that are decoded first
  std::int64_t given = 0;    ///< numbers of logits, or told of them, to the first rank
  std::int64_t told = 0;     ///< rows of logits of which the greatest were told
  std::int64_t to_host = 0;  ///< copies
  std::int64_t masked = 0;   ///< choices among what a mask allows
  std::int64_t l2_bytes = 4096;
  bool late_copies = false;  ///< to the device on other streams than the first, as those of pages
  bool multiplies_codes = false;
  bool has_sm90a = true;
  /// The memory through which ranks exchange numbers; a GPU without it cannot be a rank.
  std::shared_ptr<SharedRanks> ranks{};
  /// Waits for the ranks of other processes; empty: does not wait.
  std::function<cuda::Status(const cuda::CudaRank& place)> meet{};
  /// Which ways of a product the fake has; without: kVector alone.
  std::function<bool(cuda::LinearWay way, std::int64_t tokens)> can{};
  /// How long a product takes by the fake's events, in seconds; all other launches take no time.
  std::function<double(const cuda::CudaLinearParams& params)> linear_seconds{};
  /// How many rows of one launch decoding attention must compute again.
  std::function<std::uint32_t(float phi)> recomputed{};
};

/// A GPU in the host's memory. A launch runs at once, by the naive loops that kernels are compared
/// with; a graph is the list of launches while it was recorded. Copies of pages on another stream
/// than the first run when the stream is waited for. Ranks exchange numbers like ranks on the
/// host; a launch that needs another rank waits for it.
class FakeRuntime final : public cuda::Runtime {
 public:
  explicit FakeRuntime(std::shared_ptr<FakeGpu> gpu) : gpu_(std::move(gpu)) {}
  ~FakeRuntime() override;

  [[nodiscard]] std::string describe(cuda::Status status) const override;
  [[nodiscard]] cuda::Properties properties() const override {
    return {"fake", 2, 90, gpu_->l2_bytes, gpu_->multiplies_codes};
  }
  cuda::Status use() override { return call(); }
  cuda::Status free_memory(std::size_t& bytes) override;
  cuda::Status allocate(std::byte*& memory, std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  cuda::Status allocate_pinned(std::byte*& memory, std::size_t bytes) override;
  void release_pinned(std::byte* memory) noexcept override;
  cuda::Status take_load_buffer(std::byte*& memory) override;
  void give_back_load_buffer(std::byte* memory) noexcept override;
  [[nodiscard]] cuda::KeptBuffers& load_buffers() const override;

  cuda::Status make_stream(cuda::Stream& stream) override;
  void release(cuda::Stream stream) noexcept override;
  cuda::Status make_event(cuda::Event& event) override;
  cuda::Status make_timing_event(cuda::Event& event) override { return make_event(event); }
  void release(cuda::Event event) noexcept override;
  cuda::Status record(cuda::Event event, cuda::Stream stream) override;
  cuda::Status wait(cuda::Event event) override;
  cuda::Status wait(cuda::Stream stream, cuda::Event event) override;
  cuda::Status elapsed(cuda::Event from, cuda::Event to, float& milliseconds) override;
  cuda::Status query(cuda::Stream stream) override;
  cuda::Status synchronize(cuda::Stream stream) override;

  cuda::Status copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes,
                              cuda::Stream stream) override;
  cuda::Status copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes,
                            cuda::Stream stream) override;
  cuda::Status copy_on_device(std::byte* to, const std::byte* from, std::size_t bytes,
                              cuda::Stream stream) override;
  cuda::Status clear(std::byte* memory, std::size_t bytes, cuda::Stream stream) override;

  cuda::Status begin_capture(cuda::Stream stream) override;
  cuda::Status end_capture(cuda::Stream stream, cuda::Graph& graph) override;
  cuda::Status launch(cuda::Graph graph, cuda::Stream stream) override;
  void release(cuda::Graph graph) noexcept override;

  cuda::Status join(const cuda::CudaRank& place) override;
  cuda::Status ranks_state() override;
  void abandon() noexcept override;
  void leave() noexcept override { has_left_ = true; }

  [[nodiscard]] bool can(cuda::LinearWay way, const cuda::DeviceMatrix& weight, std::int64_t tokens,
                         const cuda::EpilogueSteps& steps) const override;

 private:
  using Work = std::function<void()>;

  cuda::Status call();
  cuda::Status allocate_from(std::byte*& memory, std::size_t bytes);
  std::size_t free_from(std::byte* memory) noexcept;
  cuda::Status launched(Work work);
  void catch_up(cuda::Stream stream);
  cuda::Status exchanged(Work work);
  template <class Handle>
  Handle* new_handle();

  cuda::Status run_any(cuda::AnyCudaParams params, cuda::Stream stream) override;
  cuda::Status run_op(const cuda::CudaEmbeddingParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaNormParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaLinearParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaRotaryParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaAttentionParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaRouteParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaExpertLinearParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaCombineParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaScaleRowsParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaActivateParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaAdapterShrinkParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaAdapterExpandParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaConvertParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaTableParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaPageCopyParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaResolveParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaCountParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaSampleParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaTellParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaSignalParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaAllReduceParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaSumNormParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaGatherParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaSendParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaReceiveParams& params, cuda::Stream stream);
  cuda::Status run_op(const cuda::CudaTokensParams& params, cuda::Stream stream);

  const std::shared_ptr<FakeGpu> gpu_;
  bool broken_ = false;
  bool recording_ = false;
  bool has_left_ = false;
  std::unique_ptr<RankLink> link_;  // a rank's link
  bool chooses_ = false;            // it tells tokens and hears none
  bool hears_host_ = false;         // the stage before is on the host
  bool tells_host_ = false;         // the next stage is
  std::vector<Work> recorded_;
  std::map<const void*, std::vector<Work>> graphs_;
  std::map<const void*, std::size_t> sizes_;
  std::map<const void*, double> events_;             // when they were recorded
  std::map<const void*, cuda::Stream> recorded_in_;  // by event
  std::map<const void*, std::vector<Work>> late_;    // by stream: copies of pages to be done
  cuda::Stream first_stream_ = nullptr;
  double now_ = 0;  // seconds
  std::uintptr_t last_handle_ = 0;
  std::size_t handles_ = 0;
};

}  // namespace weft::test
