#include "weft/tests/gpu/cuda/fake_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/cuda/runtime/kept_buffers.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/tests/kernels/attention/attention_reference_cuda.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::test {
namespace {

using cuda::Status;

constexpr auto kAlignment = std::align_val_t{256};

/// The process's, which stay.
cuda::KeptBuffers& kept_load_buffers() {
  static auto& buffers = *new cuda::KeptBuffers([](std::byte*& memory) {
    memory = static_cast<std::byte*>(::operator new(cuda::kLoadBufferBytes, kAlignment));
    return Status::kSuccess;
  });
  return buffers;
}

void convert(const cuda::CudaConvertParams& params) {
  for (std::int64_t row = 0; row < params.rows; ++row) {
    const std::int64_t from = params.rows_of == nullptr ? row : params.rows_of[row];
    for (std::int64_t i = 0; i < params.in.width; ++i) {
      store_number(params.out.data, params.out.dtype, row * params.out.stride + i,
                   number_at(params.in.data, params.in.dtype, from * params.in.stride + i));
    }
  }
}

float* row_of(const cuda::DeviceRows& rows, std::int64_t row) {
  return static_cast<float*>(rows.data) + row * rows.stride;
}

/// The numbers of rows, one behind the other.
std::vector<float> packed(std::int64_t rows, const cuda::DeviceRows& from) {
  std::vector<float> numbers;
  for (std::int64_t row = 0; row < rows; ++row) {
    numbers.insert(numbers.end(), row_of(from, row), row_of(from, row) + from.width);
  }
  return numbers;
}

/// Back into rows, of which those of `from` begin `stride` numbers apart.
void unpack(const float* from, std::int64_t stride, std::int64_t rows, const cuda::DeviceRows& to) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * stride, to.width, row_of(to, row));
  }
}

void all_reduce(RankLink& link, const cuda::CudaAllReduceParams& params) {
  std::vector<float> numbers = packed(params.rows, params.values);
  link.all_reduce(numbers);
  unpack(numbers.data(), params.values.width, params.rows, params.values);
}

void gather(RankLink& link, const cuda::CudaGatherParams& params) {
  std::vector<float> own = packed(params.rows, params.in);
  const Rows part{own.data(), params.rows, params.in.width, params.in.width};
  if (params.parts == nullptr) return link.gather(part, params.columns, {});
  const std::int64_t width = params.columns.back().end();
  std::vector<float> whole(static_cast<std::size_t>(params.rows * width));
  link.gather(part, params.columns, {whole.data(), params.rows, width, width});
  for (std::size_t rank = 1; rank < params.columns.size(); ++rank) {
    unpack(whole.data() + params.columns[rank].first, width, params.rows, params.parts[rank]);
  }
}

void receive(RankLink& link, const cuda::CudaReceiveParams& params) {
  std::vector<float> numbers(static_cast<std::size_t>(params.rows * params.values.width));
  link.receive(numbers);
  unpack(numbers.data(), params.values.width, params.rows, params.values);
}

void tell(RankLink& link, const cuda::CudaTokensParams& params) {
  std::vector<SlotToken> tokens;
  for (std::int32_t slot = 0; slot < params.count; ++slot) {
    tokens.push_back({slot, params.tokens[slot]});
  }
  link.tell_tokens(tokens);
}

void hear(RankLink& link, const cuda::CudaTokensParams& params) {
  for (const SlotToken& one : link.hear_tokens()) params.tokens[one.slot] = one.token;
}

}  // namespace

FakeRuntime::~FakeRuntime() {
  EXPECT_TRUE(link_ == nullptr || has_left_) << "a rank that others may wait for";
  EXPECT_TRUE(sizes_.empty()) << "memory that was not given back";
  EXPECT_TRUE(graphs_.empty()) << "graphs that were not given back";
  EXPECT_EQ(handles_, 0U) << "streams or events that were not given back";
}

std::string FakeRuntime::describe(Status status) const {
  return "fake error " + std::to_string(static_cast<int>(status));
}

Status FakeRuntime::call() {
  const bool fails = gpu_->calls++ == gpu_->fail_at;
  if (fails && gpu_->sticky) broken_ = true;
  return fails || broken_ ? gpu_->failure : Status::kSuccess;
}

Status FakeRuntime::free_memory(std::size_t& bytes) {
  bytes = gpu_->memory - gpu_->taken;
  return call();
}

Status FakeRuntime::allocate_from(std::byte*& memory, std::size_t bytes) {
  memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  // Memory that nobody has written must not matter.
  std::memset(memory, 0xff, bytes);
  sizes_[memory] = bytes;
  return Status::kSuccess;
}

Status FakeRuntime::allocate(std::byte*& memory, std::size_t bytes) {
  memory = nullptr;
  if (const Status status = call(); status != Status::kSuccess) return status;
  if (gpu_->taken + bytes > gpu_->memory) return cuda::kOutOfMemory;
  gpu_->taken += bytes;
  return allocate_from(memory, bytes);
}

Status FakeRuntime::allocate_pinned(std::byte*& memory, std::size_t bytes) {
  memory = nullptr;
  if (const Status status = call(); status != Status::kSuccess) return status;
  gpu_->pinned += bytes;
  return allocate_from(memory, bytes);
}

std::size_t FakeRuntime::free_from(std::byte* memory) noexcept {
  const std::size_t bytes = sizes_.at(memory);
  sizes_.erase(memory);
  ::operator delete(memory, kAlignment);
  return bytes;
}

void FakeRuntime::release(std::byte* memory) noexcept { gpu_->taken -= free_from(memory); }
void FakeRuntime::release_pinned(std::byte* memory) noexcept { gpu_->pinned -= free_from(memory); }

Status FakeRuntime::take_load_buffer(std::byte*& memory) {
  memory = nullptr;
  if (const Status status = call(); status != Status::kSuccess) return status;
  gpu_->pinned += cuda::kLoadBufferBytes;
  return kept_load_buffers().take(memory);
}

void FakeRuntime::give_back_load_buffer(std::byte* memory) noexcept {
  gpu_->pinned -= cuda::kLoadBufferBytes;
  kept_load_buffers().give_back(memory);
}

cuda::KeptBuffers& FakeRuntime::load_buffers() const { return kept_load_buffers(); }

// Handles are numbers that nobody follows.
template <class Handle>
Handle* FakeRuntime::new_handle() {
  ++handles_;
  return reinterpret_cast<Handle*>(++last_handle_ * 16);
}

Status FakeRuntime::make_stream(cuda::Stream& stream) {
  const Status status = call();
  if (status == Status::kSuccess) stream = new_handle<CUstream_st>();
  if (first_stream_ == nullptr) first_stream_ = stream;
  return status;
}
void FakeRuntime::release(cuda::Stream) noexcept { --handles_; }

Status FakeRuntime::make_event(cuda::Event& event) {
  const Status status = call();
  if (status == Status::kSuccess) event = new_handle<CUevent_st>();
  return status;
}
void FakeRuntime::release(cuda::Event event) noexcept {
  events_.erase(event);
  --handles_;
}

void FakeRuntime::catch_up(cuda::Stream stream) {
  for (const Work& work : std::exchange(late_[stream], {})) work();
}

Status FakeRuntime::record(cuda::Event event, cuda::Stream stream) {
  events_[event] = now_;
  recorded_in_[event] = stream;
  return call();
}
Status FakeRuntime::elapsed(cuda::Event from, cuda::Event to, float& milliseconds) {
  milliseconds = static_cast<float>((events_.at(to) - events_.at(from)) * 1000);
  return call();
}
Status FakeRuntime::wait(cuda::Event event) {
  catch_up(recorded_in_[event]);
  return call();
}
Status FakeRuntime::wait(cuda::Stream, cuda::Event event) {
  catch_up(recorded_in_[event]);
  return call();
}

Status FakeRuntime::query(cuda::Stream stream) {
  const Status status = call();
  if (!late_[stream].empty()) return status == Status::kSuccess ? cuda::kNotReady : status;
  const bool pending = gpu_->work == FakeWork::kPending;
  return status == Status::kSuccess && pending ? cuda::kNotReady : status;
}

Status FakeRuntime::synchronize(cuda::Stream stream) {
  catch_up(stream);
  return call();
}

Status FakeRuntime::launched(Work work) {
  if (const Status status = call(); status != Status::kSuccess) return status;
  ++gpu_->launches;
  if (recording_) {
    recorded_.push_back(std::move(work));
  } else if (gpu_->work == FakeWork::kDone) {
    try {
      work();
    } catch (const ActorFailure&) {  // of a RankLink
      return cuda::kRankLost;
    }
  }
  return Status::kSuccess;
}

Status FakeRuntime::exchanged(Work work) {
  EXPECT_NE(link_, nullptr) << "it is no rank";
  EXPECT_FALSE(has_left_);
  return launched(std::move(work));
}

Status FakeRuntime::join(const cuda::CudaRank& place) {
  if (gpu_->meet) {
    if (const Status met = gpu_->meet(place); met != Status::kSuccess) return met;
  }
  const std::vector<std::int32_t>& widths = place.all->widths;
  link_ = gpu_->ranks->link(place.stage, place.rank);
  hears_host_ = place.all->is_on_host(place.stage - 1);
  tells_host_ = place.all->is_on_host(place.stage + 1);
  chooses_ = place.rank == 0 && static_cast<std::size_t>(place.stage) + 1 == widths.size();
  return call();
}

Status FakeRuntime::ranks_state() { return broken_ ? gpu_->failure : Status::kSuccess; }

void FakeRuntime::abandon() noexcept {
  if (gpu_->ranks) gpu_->ranks->abandon();
}

Status FakeRuntime::copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes,
                                   cuda::Stream stream) {
  const Work copy = [=] { std::memcpy(to, from, bytes); };
  if (!gpu_->late_copies || stream == first_stream_) return launched(copy);
  return launched([this, stream, copy] { late_[stream].push_back(copy); });
}
Status FakeRuntime::copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes,
                                 cuda::Stream) {
  ++gpu_->to_host;
  return launched([=] { std::memcpy(to, from, bytes); });
}
Status FakeRuntime::copy_on_device(std::byte* to, const std::byte* from, std::size_t bytes,
                                   cuda::Stream) {
  return launched([=] { std::memcpy(to, from, bytes); });
}
Status FakeRuntime::clear(std::byte* memory, std::size_t bytes, cuda::Stream) {
  return launched([=] { std::memset(memory, 0, bytes); });
}

Status FakeRuntime::begin_capture(cuda::Stream) {
  EXPECT_FALSE(recording_);
  recording_ = true;
  return call();
}

Status FakeRuntime::end_capture(cuda::Stream, cuda::Graph& graph) {
  recording_ = false;
  std::vector<Work> recorded = std::exchange(recorded_, {});
  if (const Status status = call(); status != Status::kSuccess) return status;
  graph = new_handle<CUgraphExec_st>();
  graphs_[graph] = std::move(recorded);
  return Status::kSuccess;
}

Status FakeRuntime::launch(cuda::Graph graph, cuda::Stream) {
  ++gpu_->graphs;
  return launched([this, graph] {
    for (const Work& work : graphs_.at(graph)) work();
  });
}

void FakeRuntime::release(cuda::Graph graph) noexcept {
  graphs_.erase(graph);
  --handles_;
}

bool FakeRuntime::can(cuda::LinearWay way, const cuda::DeviceMatrix& weight, std::int64_t tokens,
                      const cuda::EpilogueSteps& steps) const {
  if (!cuda::takes(way, weight, tokens, gpu_->has_sm90a, steps)) return false;
  if (way == cuda::LinearWay::kCodes || way == cuda::LinearWay::kCodesFetched ||
      way == cuda::LinearWay::kRounded) {
    return gpu_->multiplies_codes;
  }
  if (gpu_->can) return gpu_->can(way, tokens);
  return way == cuda::LinearWay::kVector;
}

Status FakeRuntime::run_any(cuda::AnyCudaParams params, cuda::Stream stream) {
  return std::visit([&](const auto* of_op) { return run_op(*of_op, stream); }, params);
}

Status FakeRuntime::run_op(const cuda::CudaEmbeddingParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::embed(params); });
}
Status FakeRuntime::run_op(const cuda::CudaNormParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::norm(params); });
}
Status FakeRuntime::run_op(const cuda::CudaLinearParams& params, cuda::Stream) {
  return launched([=, this] {
    linear_reference(params);
    if (params.way == cuda::LinearWay::kDecoded) ++gpu_->decoded;
    if (gpu_->linear_seconds) now_ += gpu_->linear_seconds(params);
  });
}
Status FakeRuntime::run_op(const cuda::CudaRotaryParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::rotate_and_store(params); });
}
Status FakeRuntime::run_op(const cuda::CudaAttentionParams& params, cuda::Stream) {
  return launched([=, this] {
    if (params.rotary.qkv.data != nullptr) cuda::reference::rotate_and_store(params.rotary);
    cuda::attention_reference(params);
    if (gpu_->recomputed && params.unified && params.decodes) {
      *params.recomputed += gpu_->recomputed(params.phi);
    }
  });
}
Status FakeRuntime::run_op(const cuda::CudaRouteParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::route(params); });
}
Status FakeRuntime::run_op(const cuda::CudaExpertLinearParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::expert_linear(params); });
}
Status FakeRuntime::run_op(const cuda::CudaCombineParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::combine(params); });
}
Status FakeRuntime::run_op(const cuda::CudaScaleRowsParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::scale_rows(params); });
}
Status FakeRuntime::run_op(const cuda::CudaActivateParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::activate(params); });
}
Status FakeRuntime::run_op(const cuda::CudaAdapterShrinkParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::adapter_shrink(params); });
}
Status FakeRuntime::run_op(const cuda::CudaAdapterExpandParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::adapter_expand(params); });
}
Status FakeRuntime::run_op(const cuda::CudaConvertParams& params, cuda::Stream) {
  return launched([=] { convert(params); });
}
Status FakeRuntime::run_op(const cuda::CudaTableParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::write_tables(params); });
}
Status FakeRuntime::run_op(const cuda::CudaPageCopyParams& params, cuda::Stream stream) {
  const Work copy = [=] { cuda::reference::copy_pages(params); };
  if (stream == first_stream_ || recording_) return launched(copy);
  return launched([this, stream, copy] { late_[stream].push_back(copy); });
}
Status FakeRuntime::run_op(const cuda::CudaResolveParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::resolve_tokens(params); });
}
Status FakeRuntime::run_op(const cuda::CudaCountParams& params, cuda::Stream) {
  return launched([=] { cuda::reference::start_counts(params); });
}
Status FakeRuntime::run_op(const cuda::CudaSampleParams& params, cuda::Stream) {
  return launched([=, this] {
    cuda::reference::sample(params);
    const auto is_masked = [](const cuda::SampleItem& item) { return item.mask >= 0; };
    gpu_->masked += std::count_if(params.items, params.items + *params.item_count, is_masked);
  });
}
Status FakeRuntime::run_op(const cuda::CudaTellParams& params, cuda::Stream) {
  return launched([=, this] {
    cuda::reference::tell_parts(params);
    gpu_->told += params.rows;
  });
}
Status FakeRuntime::run_op(const cuda::CudaSignalParams& params, cuda::Stream) {
  return launched([=] { *params.flag = *params.value; });
}
Status FakeRuntime::run_op(const cuda::CudaAllReduceParams& params, cuda::Stream) {
  return exchanged([=, this] { all_reduce(*link_, params); });
}
Status FakeRuntime::run_op(const cuda::CudaSumNormParams& params, cuda::Stream) {
  return exchanged([=, this] {
    all_reduce(*link_, params.sum);
    cuda::reference::norm(params.norm);
  });
}
Status FakeRuntime::run_op(const cuda::CudaGatherParams& params, cuda::Stream) {
  return exchanged([=, this] {
    gather(*link_, params);
    if (params.parts == nullptr) gpu_->given += params.rows * params.in.width;
  });
}
Status FakeRuntime::run_op(const cuda::CudaSendParams& params, cuda::Stream) {
  return exchanged([=, this] {
    if (!tells_host_) link_->send(packed(params.rows, params.values));
  });
}
Status FakeRuntime::run_op(const cuda::CudaReceiveParams& params, cuda::Stream) {
  return exchanged([=, this] {
    if (!hears_host_) receive(*link_, params);
  });
}
Status FakeRuntime::run_op(const cuda::CudaTokensParams& params, cuda::Stream) {
  return exchanged([=, this] { (chooses_ ? tell : hear)(*link_, params); });
}

}  // namespace weft::test
