// The linear op at the sizes of TinyLlama (1.1 B), in bf16, by all threads of the host, against the
// limits of the machine measured in turn with it:
//   decode   T = 1   bytes of weights a second over those that plain loops read of the same memory
//            (of_reading), and over host_read_bandwidth (of_host); weights pass by that are far
//            larger than the caches
//   batch    T = 32  tokens a second over those of T = 1 (times_decode)
//   prefill  T = 512 operations a second over those of a loop of bf16 products alone (of_peak)
//   fill     bytes a second that are packed, over memcpy's (of_copy)

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/gpu/host/host_bandwidth.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/peaks/bf16_peak.h"
#include "weft/kernels/peaks/plain_read.h"
#include "weft/kernels/simd/narrow_float.h"

namespace weft {
namespace {

struct Shape {
  const char* name;
  std::int64_t outputs;
  std::int64_t inputs;
  bool gated;
};

constexpr std::array kShapes = {
    Shape{"qkv", 2560, 2048, false}, Shape{"attention_out", 2048, 2048, false},
    Shape{"gate_up", 5632, 2048, true}, Shape{"down", 2048, 5632, false},
    Shape{"head", 32000, 2048, false}};

// The bytes of all weights: many times the last cache of any host.
constexpr std::size_t kWeightBytes = std::size_t{1} << 30U;

struct alignas(64) Line {
  std::array<std::byte, 64> bytes;
};

std::vector<std::uint16_t> random_numbers(std::int64_t count) {
  std::minstd_rand random(1);
  std::vector<std::uint16_t> numbers(static_cast<std::size_t>(count));
  for (std::uint16_t& number : numbers) {
    number = to_bf16(static_cast<float>(random() % 2001) * 1e-3F - 1);
  }
  return numbers;
}

/// Weights of one shape that fill kWeightBytes, and the team that multiplies by them.
class Model {
 public:
  explicit Model(const Shape& shape)
      : shape_(shape), source_(random_numbers(rows() * shape.inputs)) {
    std::size_t bytes = 0;
    while (bytes < kWeightBytes) {
      auto weight =
          PackedWeight::allocate(DType::kBF16, shape.outputs, shape.inputs, shape.gated).value();
      bytes += weight.bytes();
      weights_.push_back(std::move(weight));
    }
    for (PackedWeight& weight : weights_) fill(weight);
  }

  [[nodiscard]] ThreadTeam& team() { return team_; }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(weights_.size()) * static_cast<double>(weights_.front().bytes());
  }
  [[nodiscard]] double operations(std::int64_t tokens) const {
    return 2.0 * static_cast<double>(tokens * rows() * shape_.inputs);
  }

  void fill(PackedWeight& weight) {
    team_.run([&](Share share) {
      const Share::Range part = share.of(rows(), 16);
      weight.fill(
          part.begin,
          {.data = reinterpret_cast<const std::byte*>(source_.data() + part.begin * shape_.inputs),
           .dtype = DType::kBF16,
           .outputs = part.end - part.begin,
           .inputs = shape_.inputs,
           .stride_output = shape_.inputs});
    });
  }

  /// Seconds for `tokens` rows by the first `weights` weights, or all.
  double multiply(std::int64_t tokens, std::size_t weights = SIZE_MAX) {
    const std::size_t count = std::min(weights, weights_.size());
    prepare(tokens);
    return bench::seconds([&] {
      const std::vector<std::int32_t> pieces(count, 4 * team_.size());  // as a step has them
      team_.run(
          pieces,
          [&](std::int32_t op, Share share) {
            auto& memory = workspaces_[static_cast<std::size_t>(share.thread)];
            const PackedWeight& weight =
                weights_[(next_ + static_cast<std::size_t>(op)) % weights_.size()];
            linear({.in = {in_.data(), tokens, shape_.inputs, shape_.inputs},
                    .weight = &weight,
                    .spec = {.activation = shape_.gated ? Activation::kSilu : Activation::kNone},
                    .out = {out_.data(), tokens, shape_.outputs, shape_.outputs}},
                   share, std::as_writable_bytes(std::span(memory)));
          },
          team_.size());
      next_ = (next_ + count) % weights_.size();
    });
  }

  /// Seconds for reading all weights by plain loops.
  double read() {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(team_.size()));
    const double took = bench::seconds([&] {
      team_.run([&](Share share) {
        std::uint64_t sum = 0;
        for (const PackedWeight& weight : weights_) {
          const auto words = std::span(reinterpret_cast<const std::uint64_t*>(weight.data()),
                                       weight.bytes() / sizeof(std::uint64_t));
          const Share::Range part = share.of(static_cast<std::int64_t>(words.size()));
          sum += add_up(words.subspan(static_cast<std::size_t>(part.begin),
                                      static_cast<std::size_t>(part.end - part.begin)));
        }
        sums[static_cast<std::size_t>(share.index)] = sum;
      });
    });
    benchmark::DoNotOptimize(sums.data());
    return took;
  }

  /// Seconds for packing all weights again, or for copying as many bytes over them.
  double pack() {
    return bench::seconds([&] {
      for (PackedWeight& weight : weights_) fill(weight);
    });
  }
  double copy() {
    return bench::seconds([&] {
      for (PackedWeight& weight : weights_) {
        team_.run([&](Share share) {
          const Share::Range part = share.of(rows() * shape_.inputs);
          std::memcpy(const_cast<std::byte*>(weight.data()) + part.begin * 2,
                      source_.data() + part.begin,
                      static_cast<std::size_t>(part.end - part.begin) * 2);
        });
      }
    });
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return shape_.outputs * (shape_.gated ? 2 : 1); }

  void prepare(std::int64_t tokens) {
    in_.resize(static_cast<std::size_t>(tokens * shape_.inputs), 0.5F);
    out_.resize(static_cast<std::size_t>(tokens * shape_.outputs));
    workspaces_.resize(static_cast<std::size_t>(team_.size()));
    const std::size_t lines = linear_workspace_bytes(tokens, shape_.inputs) / sizeof(Line) + 1;
    for (auto& memory : workspaces_) {
      if (memory.size() < lines) memory.resize(lines);
    }
  }

  Shape shape_;
  ThreadTeam team_{{.pin = true}};
  std::vector<std::uint16_t> source_;
  std::vector<PackedWeight> weights_;
  std::vector<float> in_;
  std::vector<float> out_;
  std::vector<std::vector<Line>> workspaces_;
  std::size_t next_ = 0;
};

const Shape& shape_of(benchmark::State& state) {
  const Shape& shape = kShapes[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(shape.name);
  return shape;
}

void decode_against_reading(benchmark::State& state) {
  Model model(shape_of(state));
  const double host = host_read_bandwidth(model.team().size());
  bench::compare(state, 1, [&] { return model.multiply(1); }, [&] { return model.read(); });
  bench::add_inverse(state, "of_reading");
  const double rate = model.bytes() / (state.counters["ours_ns"] * 1e-9);
  state.counters["GB/s"] = rate * 1e-9;
  state.counters["of_host"] = rate / host;
}

void batch_against_decode(benchmark::State& state) {
  Model model(shape_of(state));
  bench::compare(state, 1, [&] { return model.multiply(32); }, [&] { return model.multiply(1); });
  bench::add_inverse(state, "times_decode", 32);
}

void prefill_against_peak(benchmark::State& state) {
  if (!multiplies_bf16()) {
    state.SkipWithError("this processor does not multiply bf16");
    return;
  }
  Model model(shape_of(state));
  constexpr std::int64_t kTokens = 512;
  const double operations = model.operations(kTokens);
  const auto part = static_cast<std::int64_t>(operations / model.team().size());
  bench::compare(
      state, operations, [&] { return model.multiply(kTokens, 1); },
      [&] {
        return bench::seconds([&] { model.team().run([&](Share) { do_bf16_operations(part); }); });
      });
  bench::add_inverse(state, "of_peak");
  state.counters["GFLOP/s"] = 1 / state.counters["ours_ns"];
}

void fill_against_copy(benchmark::State& state) {
  Model model(shape_of(state));
  bench::compare(state, model.bytes(), [&] { return model.pack(); }, [&] { return model.copy(); });
  bench::add_inverse(state, "of_copy");
  state.counters["GB/s"] = 1 / state.counters["ours_ns"];
}

void every_shape(benchmark::internal::Benchmark* benchmark) {
  benchmark->DenseRange(0, kShapes.size() - 1)
      ->ArgName("shape")
      ->Iterations(bench::kPairs)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(decode_against_reading)->Apply(every_shape);
BENCHMARK(batch_against_decode)->Apply(every_shape);
BENCHMARK(prefill_against_peak)->Apply(every_shape);
BENCHMARK(fill_against_copy)->Apply(every_shape);

}  // namespace
}  // namespace weft
