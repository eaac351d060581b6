// Attention against what the machine can do, in the same run and in turn, with as many threads.
// Decode reads the whole cache once: `ratio` is its time over that of merely reading the same
// bytes. Prefill computes: `ratio` is its time over that of as many fused multiplications on
// registers alone. The inverse is the part of the limit that is reached.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/core/kv_dtype.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/kernels/attention/attention.h"
#include "weft/kernels/peaks/fma_peak.h"
#include "weft/kernels/simd/narrow_float.h"

namespace weft {
namespace {

struct Heads {
  std::int32_t heads;
  std::int32_t kv_heads;
  std::int32_t size;
};

/// The models, indexed by the first argument of a benchmark.
constexpr Heads kModels[] = {
    {32, 4, 64},   // TinyLlama 1.1B
    {32, 8, 128},  // Llama 3 8B
    {12, 12, 64},  // GPT-2
    {16, 1, 256},  // one KV head for all
};
constexpr DType kTypes[] = {DType::kBF16, DType::kF16, DType::kF32, DType::kI8, DType::kF8_E4M3};

constexpr std::int32_t kPageTokens = 16;

class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t bytes)
      : bytes_(bytes),
        memory_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kCacheLineBytes)))) {
  }
  [[nodiscard]] std::span<std::byte> span() const { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t(kCacheLineBytes));
    }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

int usable_threads() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

/// Returns the seconds until all threads have done work(index).
template <class Work>
double together(Work&& work) {
  return bench::seconds([&] {
    std::vector<std::jthread> others;
    for (int index = 1; index < usable_threads(); ++index) {
      others.emplace_back([&work, index] { work(index); });
    }
    work(0);
  });
}

/// `sequences` whose contexts have `context` tokens, of which the last `count` are in the step.
class Step {
 public:
  Step(Heads heads, DType dtype, std::int32_t sequences, std::int32_t context, std::int32_t count)
      : heads_(heads),
        pages_(sequences * ((context + kPageTokens - 1) / kPageTokens)),
        keys_(cache_bytes(dtype)),
        values_(cache_bytes(dtype)),
        numbers_(static_cast<std::size_t>(sequences * count * heads.heads * heads.size), 0.25F),
        out_(numbers_.size()) {
    for (const auto memory : {keys_.span(), values_.span()}) {
      if (is_coded_kv(dtype)) {
        fill_with_codes(memory, static_cast<std::size_t>(kv_row_bytes(dtype, heads.size)));
      } else {
        fill(memory, dtype);
      }
    }
    page_ids_.resize(static_cast<std::size_t>(pages_));
    // Neighbouring pages of a context are not adjacent in memory.
    for (std::int32_t i = 0; i < pages_; ++i) {
      page_ids_[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(std::int64_t{i} * 7919 % pages_);
    }
    const auto own = page_ids_.size() / static_cast<std::size_t>(sequences);
    for (std::int32_t s = 0; s < sequences; ++s) {
      spans_.push_back(
          {.first = s * count,
           .count = count,
           .start = context - count,
           .pages = std::span(page_ids_).subspan(static_cast<std::size_t>(s) * own, own)});
    }
    const std::int64_t width = std::int64_t{heads.heads} * heads.size;
    params_.queries = {numbers_.data(), std::int64_t{sequences} * count, width, width};
    params_.out = {out_.data(), std::int64_t{sequences} * count, width, width};
    params_.heads = heads.heads;
    params_.kv = {.dtype = dtype,
                  .keys = keys_.span().data(),
                  .values = values_.span().data(),
                  .pages = pages_,
                  .page_tokens = kPageTokens,
                  .kv_heads = heads.kv_heads,
                  .head_size = heads.size};
    params_.spans = spans_;
    for (int index = 0; index < usable_threads(); ++index) {
      workspaces_.emplace_back(attention_workspace_bytes(heads.heads, heads.size));
    }
    params_.spec.scale = 1.0F / std::sqrt(static_cast<float>(heads.size));
  }

  /// Returns the seconds of one attention.
  [[nodiscard]] double run() const {
    return together([&](int index) {
      attention(params_, {index, usable_threads()},
                workspaces_[static_cast<std::size_t>(index)].span());
    });
  }

  [[nodiscard]] std::span<const std::byte> keys() const { return keys_.span(); }
  [[nodiscard]] std::span<const std::byte> values() const { return values_.span(); }

 private:
  [[nodiscard]] std::size_t cache_bytes(DType dtype) const {
    return static_cast<std::size_t>(std::int64_t{pages_} * kPageTokens * heads_.kv_heads *
                                    kv_row_bytes(dtype, heads_.size));
  }

  static void fill(std::span<std::byte> memory, DType dtype) {
    std::uint32_t state = 1;
    const std::size_t width = static_cast<std::size_t>(block_of(dtype).bytes);
    for (std::size_t at = 0; at < memory.size(); at += width) {
      state = state * 1664525 + 1013904223;
      const float number = static_cast<float>(state >> 8) * 0x1p-23F - 1;
      const std::uint16_t half = dtype == DType::kF16 ? to_f16(number) : to_bf16(number);
      const void* from = dtype == DType::kF32 ? static_cast<const void*>(&number) : &half;
      std::memcpy(memory.data() + at, from, width);
    }
  }

  /// Any codes are as good as others.
  static void fill_with_codes(std::span<std::byte> memory, std::size_t row_bytes) {
    std::ranges::fill(memory, std::byte{0x31});
    constexpr float kScale = 0.01F;
    for (std::size_t at = 0; at < memory.size(); at += row_bytes) {
      std::memcpy(memory.data() + at, &kScale, sizeof(kScale));
    }
  }

  Heads heads_;
  std::int32_t pages_;
  AlignedMemory keys_;
  AlignedMemory values_;
  std::vector<float> numbers_;
  std::vector<float> out_;
  std::vector<std::int32_t> page_ids_;
  std::vector<SequenceSpan> spans_;
  AttentionParams params_;
  std::vector<AlignedMemory> workspaces_;
};

std::uint64_t sum_of(std::span<const std::byte> memory) {
  const std::span words(reinterpret_cast<const std::uint64_t*>(memory.data()), memory.size() / 8);
  return std::accumulate(words.begin(), words.end(), std::uint64_t{0});
}

double read_cache(const Step& step) {
  return together([&](int index) {
    for (const auto memory : {step.keys(), step.values()}) {
      const auto [begin, end] =
          Share{index, usable_threads()}.of(static_cast<std::int64_t>(memory.size()), 64);
      benchmark::DoNotOptimize(sum_of(
          memory.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))));
    }
  });
}

void decode_against_reading(benchmark::State& state) {
  const Heads heads = kModels[state.range(0)];
  const DType dtype = kTypes[state.range(1)];
  // The caches of all sequences together are several times larger than the largest processor cache.
  constexpr std::int64_t kBytes = 256 << 20;
  constexpr std::int32_t kSequences = 8;
  const std::int64_t token_bytes =
      std::int64_t{2} * heads.kv_heads * kv_row_bytes(dtype, heads.size);
  const auto context = static_cast<std::int32_t>(kBytes / token_bytes / kSequences);
  const Step step(heads, dtype, kSequences, context, 1);
  bench::compare(state, 1, [&] { return step.run(); }, [&] { return read_cache(step); });
  state.counters["context"] = context;
  state.counters["GB/s"] = static_cast<double>(kBytes) / state.counters["ours_ns"].value;
}

/// Decoding with KV in codes, compared with bf16, for the same number of tokens.
void coded_decode_against_bf16(benchmark::State& state) {
  const Heads heads = kModels[state.range(0)];
  constexpr std::int32_t kSequences = 8;
  constexpr std::int32_t kContext = 16'384;
  const Step coded(heads, kTypes[state.range(1)], kSequences, kContext, 1);
  const Step halves(heads, DType::kBF16, kSequences, kContext, 1);
  bench::compare(state, 1, [&] { return coded.run(); }, [&] { return halves.run(); });
  bench::add_inverse(state, "times_bf16");
}

void prefill_against_fma_peak(benchmark::State& state) {
  const Heads heads = kModels[state.range(0)];
  const auto tokens = static_cast<std::int32_t>(state.range(1));
  const Step step(heads, DType::kBF16, 1, tokens, tokens);
  // Each query has two products with each key that it sees.
  const double pairs = 0.5 * tokens * (tokens + 1.0);
  const double fused = 2 * pairs * heads.heads * heads.size;
  bench::compare(
      state, 1, [&] { return step.run(); },
      [&] {
        const auto own = static_cast<std::int64_t>(fused / usable_threads());
        return together([&](int) { do_fused_multiplications(own); });
      });
  state.counters["GFLOP/s"] = 2 * fused / state.counters["ours_ns"].value;
}

BENCHMARK(decode_against_reading)
    ->ArgsProduct({{0, 1, 2, 3}, {0}})
    ->Args({0, 1})
    ->Args({0, 2})
    ->ArgsProduct({{0, 1}, {3, 4}})
    ->ArgNames({"model", "type"})
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(coded_decode_against_bf16)
    ->ArgsProduct({{0, 1}, {3, 4}})
    ->ArgNames({"model", "type"})
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(prefill_against_fma_peak)
    ->ArgsProduct({{0, 1, 2, 3}, {512}})
    ->Args({0, 4096})
    ->ArgNames({"model", "tokens"})
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft
