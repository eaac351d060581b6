// The linear op by encoded weights over the same by bf16 weights, on one thread: [2048, 2048], as
// many of them as 256 MiB of bf16 are. T = 1 is decode, T = 32 a batch, T = 128 prefill. times_bf16
// is how many times as fast the encoded ones are.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"

namespace weft {
namespace {

constexpr std::int64_t kSide = 2048;
constexpr std::size_t kCount = 32;

struct alignas(64) Line {
  std::array<std::byte, 64> bytes;
};

class Weights {
 public:
  explicit Weights(DType dtype) {
    for (std::size_t i = 0; i < kCount; ++i) {
      weights_.push_back(PackedWeight::allocate(dtype, kSide, kSide).value());
      // Any codes are as good as others; these give no scale that is not finite.
      constexpr int kByte = 0x11;
      std::memset(const_cast<std::byte*>(weights_.back().data()), kByte, weights_.back().bytes());
    }
  }

  double multiply(std::int64_t tokens) {
    in_.resize(static_cast<std::size_t>(tokens * kSide), 0.5F);
    out_.resize(static_cast<std::size_t>(tokens * kSide));
    workspace_.resize(linear_workspace_bytes(tokens, kSide) / sizeof(Line) + 1);
    return bench::seconds([&] {
      for (const PackedWeight& weight : weights_) {
        linear({.in = {in_.data(), tokens, kSide, kSide},
                .weight = &weight,
                .out = {out_.data(), tokens, kSide, kSide}},
               {}, std::as_writable_bytes(std::span(workspace_)));
      }
    });
  }

 private:
  std::vector<PackedWeight> weights_;
  std::vector<float> in_;
  std::vector<float> out_;
  std::vector<Line> workspace_;
};

void encoded_against_bf16(benchmark::State& state) {
  const Encoding& encoding = encodings()[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(std::string(to_string(encoding.dtype)));
  const std::int64_t tokens = state.range(1);
  Weights encoded(encoding.dtype);
  Weights plain(DType::kBF16);
  const auto numbers = static_cast<double>(kCount) * kSide * kSide * static_cast<double>(tokens);
  bench::compare(
      state, numbers, [&] { return encoded.multiply(tokens); },
      [&] { return plain.multiply(tokens); });
  bench::add_inverse(state, "times_bf16");
  state.counters["G/s"] = 1 / state.counters["ours_ns"];
}

void every_encoding(benchmark::internal::Benchmark* benchmark) {
  constexpr int kPairsOfTimes = 5;  // of many cases
  for (std::size_t i = 0; i < encodings().size(); ++i) {
    for (const std::int64_t tokens : {1, 32, 128}) {
      benchmark->Args({static_cast<std::int64_t>(i), tokens});
    }
  }
  benchmark->ArgNames({"encoding", "T"})
      ->Iterations(kPairsOfTimes)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

/// Compares on processors with fewer extensions: each target except the best.
void encoded_on_target(benchmark::State& state) {
  const CpuTarget target = available_cpu_targets()[static_cast<std::size_t>(state.range(2))];
  const ForcedCpuTarget forced(target);
  encoded_against_bf16(state);
  state.SetLabel(
      std::string(to_string(encodings()[static_cast<std::size_t>(state.range(0))].dtype)) + " on " +
      std::string(to_string(target)));
}

void every_target(benchmark::internal::Benchmark* benchmark) {
  constexpr int kPairsOfTimes = 5;
  const auto targets = static_cast<std::int64_t>(available_cpu_targets().size());
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_K, DType::kQ6_K}) {
    const auto found = std::ranges::find(encodings(), dtype, &Encoding::dtype);
    for (const std::int64_t tokens : {1, 32, 128}) {
      for (std::int64_t target = 1; target + 1 < targets; ++target) {
        benchmark->Args({found - encodings().begin(), tokens, target});
      }
    }
  }
  benchmark->ArgNames({"encoding", "T", "target"})
      ->Iterations(kPairsOfTimes)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(encoded_against_bf16)->Apply(every_encoding);
BENCHMARK(encoded_on_target)->Apply(every_target);

}  // namespace
}  // namespace weft
