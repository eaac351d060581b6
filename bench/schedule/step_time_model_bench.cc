// The cost of the model of step times in each tick, in nanoseconds.

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

#include "weft/schedule/step/step_time_model.h"

namespace weft {
namespace {

/// Learns one step and sizes one chunk of prefill, with varying steps.
void learn_and_size(benchmark::State& state) {
  std::mt19937 random(1);
  std::array<StepShape, 256> shapes{};
  for (StepShape& shape : shapes) {
    shape.decode_tokens = static_cast<std::int32_t>(random() % 256);
    shape.prefill_tokens = static_cast<std::int32_t>(random() % 512);
    shape.context_tokens = static_cast<std::int64_t>(random() % 100'000);
  }
  StepTimeModel model;
  std::size_t tick = 0;
  while (state.KeepRunning()) {
    const StepShape& shape = shapes.at(tick++ % shapes.size());
    const auto tokens = 300 + shape.decode_tokens + shape.prefill_tokens;
    model.learn(shape, std::chrono::microseconds(10 * tokens));
    benchmark::DoNotOptimize(
        model.prefill_tokens_within(std::chrono::milliseconds(5), shape, 4096));
  }
}

BENCHMARK(learn_and_size);

}  // namespace
}  // namespace weft
