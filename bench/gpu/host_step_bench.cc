// Whole steps of a llama of TinyLlama's shape (1.1 B) with random bf16 weights on the host device,
// by all its threads, each in turn with the limit that it is measured against:
//   decode   one sequence: bytes of weights and KV a second over those that plain loops read of as
//            much other memory (of_reading)
//   batch    32 sequences: tokens a second over those of one (times_decode)
//   prefill  512 tokens of one sequence: operations a second over those of a loop of VDPBF16PS
//            alone (of_peak)

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "weft/bench/kernels/bf16_peak.h"
#include "weft/bench/kernels/plain_read.h"
#include "weft/bench/ratio.h"
#include "weft/gpu/host_device.h"
#include "weft/gpu/host_memory.h"
#include "weft/gpu/thread_team.h"
#include "weft/model/random_llama.h"

namespace weft {
namespace {

constexpr std::int32_t kPrompt = 512;
constexpr std::int32_t kBatch = 32;
constexpr std::int32_t kContext = 128;  // of each sequence that decodes
constexpr std::int32_t kPageTokens = 16;
constexpr std::int32_t kPagesOfOne = kPrompt / kPageTokens;  // of the places that it may take
static_assert(kPrompt % kContext == 0 && kPrompt > kContext);

/// The model on its device, and sequences of which each has pages of its own.
class Host {
 public:
  Host()
      : device_(HostDevice::load(model_.checkpoint(), model_.program(), options()).value()),
        pages_(static_cast<std::size_t>(kBatch) * kPagesOfOne),
        ids_(kPrompt),
        peer_(ThreadTeam::Options{device_->threads(), false}),
        memory_(HostMemory::allocate(static_cast<std::size_t>(decode_bytes())).value()) {
    std::iota(pages_.begin(), pages_.end(), 0);
    std::uint32_t random = 1;
    for (TokenId& id : ids_) {
      random = random * 1664525U + 1013904223U;
      id = static_cast<TokenId>((random >> 8U) % kTinyLlama.vocabulary);
    }
    std::memset(memory_.bytes().data(), 1, memory_.bytes().size());
  }

  /// Seconds for the next token of each of `batch` sequences.
  double decode(std::int32_t batch) {
    constexpr std::int32_t kTogether = kPrompt / kContext;
    for (; filled_ < batch; filled_ += kTogether) step(filled_, kTogether, 0, kContext);
    return bench::seconds([&] { step(0, batch, kContext, 1); });
  }

  /// Seconds for a prompt, with logits after its last token.
  double prefill() {
    return bench::seconds([&] { step(0, 1, 0, kPrompt); });
  }

  /// Seconds for reading as many bytes as decode(1) does.
  double read() {
    const auto count = static_cast<std::int64_t>(decode_bytes() / sizeof(std::uint64_t));
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory_.bytes().data());
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(peer_.size()));
    const double took = bench::seconds([&] {
      peer_.run([&](Share share) {
        const auto [begin, end] = share.of(count);
        sums[static_cast<std::size_t>(share.index)] =
            bench::add_up(std::span(words + begin, static_cast<std::size_t>(end - begin)));
      });
    });
    benchmark::DoNotOptimize(sums.data());
    return took;
  }

  /// Seconds for the operations of prefill() in registers.
  double compute() {
    const auto part = static_cast<std::int64_t>(prefill_operations() / peer_.size());
    return bench::seconds([&] { peer_.run([&](Share) { bench::do_bf16_operations(part); }); });
  }

  /// Every weight of the program once; of a step's KV, what is read.
  [[nodiscard]] double decode_bytes() const {
    const auto kv = device_->program().kv_bytes_per_token(device_->options().kv_dtype);
    return static_cast<double>(weight_bytes() + kv * (kContext + 1));
  }

  /// Two for each weight and token, of the head for the last token alone; and attention's, of
  /// scores and values, for each pair of a token and one that it sees.
  [[nodiscard]] double prefill_operations() const {
    double operations = 0;
    for (const MatrixPlan& matrix : device_->program().matrices) {
      const bool head = matrix.outputs == kTinyLlama.vocabulary;
      operations += 2.0 * static_cast<double>(matrix.outputs * matrix.inputs) *
                    (matrix.gated ? 2 : 1) * (head ? 1 : kPrompt);
    }
    constexpr double kPairs = kPrompt * (kPrompt + 1.0) / 2;
    return operations + 4 * kPairs * static_cast<double>(kTinyLlama.layers * kTinyLlama.hidden);
  }

 private:
  static DeviceOptions options() {
    return {.max_tokens = kPrompt,
            .max_outputs = kBatch,
            .max_sequences = kBatch,
            .page_tokens = kPageTokens,
            .pages = kBatch * kPagesOfOne,
            .kv_dtype = DType::kBF16};
  }

  [[nodiscard]] std::int64_t weight_bytes() const { return device_->program().weight_bytes(); }

  /// `count` sequences, each with `tokens` tokens from `start` on and logits after its last.
  void step(std::int32_t first, std::int32_t count, std::int32_t start, std::int32_t tokens) {
    sequences_.clear();
    outputs_.clear();
    for (std::int32_t i = 0; i < count; ++i) {
      const auto page = static_cast<std::size_t>(first + i) * kPagesOfOne;
      sequences_.push_back({.first = i * tokens,
                            .count = tokens,
                            .start = start,
                            .pages = std::span(pages_).subspan(page, kPagesOfOne),
                            .cross_pages = {}});
      outputs_.push_back((i + 1) * tokens - 1);
    }
    const auto all = static_cast<std::size_t>(count) * static_cast<std::size_t>(tokens);
    device_->decode({std::span(ids_).first(all), sequences_, outputs_});
    benchmark::DoNotOptimize(device_->results().data);
  }

  RandomLlama model_{kTinyLlama, 1};
  std::unique_ptr<HostDevice> device_;
  std::vector<std::int32_t> pages_;
  std::vector<TokenId> ids_;
  std::vector<StepSequence> sequences_;
  std::vector<std::int32_t> outputs_;
  std::int32_t filled_ = 0;  // sequences whose contexts are there
  ThreadTeam peer_;
  HostMemory memory_;
};

Host& host() {
  static Host one;
  return one;
}

void decode_against_reading(benchmark::State& state) {
  Host& model = host();
  bench::compare(state, 1, [&] { return model.decode(1); }, [&] { return model.read(); });
  bench::add_inverse(state, "of_reading");
  state.counters["tokens/s"] = 1e9 / state.counters["ours_ns"];
  state.counters["read_GB/s"] = model.decode_bytes() / state.counters["peer_ns"];
}

void batch_against_decode(benchmark::State& state) {
  Host& model = host();
  bench::compare(state, 1, [&] { return model.decode(kBatch); }, [&] { return model.decode(1); });
  bench::add_inverse(state, "times_decode", kBatch);
  state.counters["tokens/s"] = kBatch * 1e9 / state.counters["ours_ns"];
}

void prefill_against_peak(benchmark::State& state) {
  if (!bench::multiplies_bf16()) {
    state.SkipWithError("this processor does not multiply bf16");
    return;
  }
  Host& model = host();
  bench::compare(state, 1, [&] { return model.prefill(); }, [&] { return model.compute(); });
  bench::add_inverse(state, "of_peak");
  state.counters["tokens/s"] = kPrompt * 1e9 / state.counters["ours_ns"];
  state.counters["peak_GFLOP/s"] = model.prefill_operations() / state.counters["peer_ns"];
}

void pairs(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(bench::kPairs)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(decode_against_reading)->Apply(pairs);
BENCHMARK(batch_against_decode)->Apply(pairs);
BENCHMARK(prefill_against_peak)->Apply(pairs)->Iterations(9);  // of seconds each

}  // namespace
}  // namespace weft
