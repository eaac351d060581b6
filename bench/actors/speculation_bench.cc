// Tokens a second with speculation.kind suffix, over those without, in turn within one run: the
// demo model on the host and on the first GPU, as many rows as the argument says.
//   repeats   a text that repeats itself is continued, greedily: the edit of a text that is mostly
//             kept
//   fills     records of a regular expression are filled in, greedily, none of them put in at once
//   tells     stories at temperature 0.8, which repeat little
//   chats     answers of a conversation, another in each row, at temperature 0.8, as long as they
//   are noise     random letters, at temperature 2: nothing is right
// Each output is the same with and without, so `steps_over_plain` is the gain where a step of a few
// tokens takes as long as one of one token.

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "weft/actors/stepper/stepper.h"
#include "weft/bench/actors/demo_model.h"
#include "weft/bench/ratio.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kTokens = 192;

Request repeats(std::int32_t /*row*/) {
  Request request;
  for (int i = 0; i < 3; ++i) {
    request.prompt +=
        "A fox lived by the river. Each day it looked for a red stone, and found a blue one. ";
  }
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  return request;
}

Request fills(std::int32_t /*row*/) {
  Request request;
  request.prompt = "The records: ";
  request.sampling.temperature = 0;
  request.structured_output.kind = StructuredOutput::Kind::kRegex;
  request.structured_output.text =
      R"((\{"name_of_the_city": "[a-z]{2,8}", "people": [0-9]{2,5}\}, ){60})";
  return request;
}

Request tells(std::int32_t /*row*/) {
  Request request;
  request.prompt = "Once upon a time";
  request.sampling.temperature = 0.8F;
  request.sampling.ignore_eos = true;
  return request;
}

Request chats(std::int32_t row) {
  constexpr std::array kAbout = {"a fox",    "a girl and her bird", "a red stone", "an old man",
                                 "the moon", "a brave little dog",  "two friends", "a boat"};
  const std::string about = kAbout.at(static_cast<std::size_t>(row) % kAbout.size());
  Request request;
  request.messages = {{{"role", "user"}, {"content", "Hello!"}},
                      {{"role", "assistant"}, {"content", "Hello! How can I help you?"}},
                      {{"role", "user"}, {"content", "Tell me a story about " + about + "."}}};
  request.sampling.temperature = 0.8F;
  return request;
}

Request noise(std::int32_t row) {
  std::mt19937 random(static_cast<std::uint32_t>(row) + 1);
  Request request;
  for (int i = 0; i < 200; ++i) request.prompt += static_cast<char>('a' + random() % 26);
  request.sampling.temperature = 2;
  request.sampling.ignore_eos = true;
  return request;
}

Stepper stepper_with(SpeculationKind kind, std::int32_t rows, const char* device) {
  Config config;
  config.device = device;
  config.model = demo_model_path();
  config.max_rows = rows;
  config.max_context = 1024;
  config.jump_ahead = false;
  config.speculation = kind;
  return Stepper::create(config).value();
}

/// Runs a request in each row; returns the seconds.
double run(Stepper& stepper, Request (*make)(std::int32_t row), std::int32_t rows) {
  return seconds([&] {
    for (std::int32_t row = 0; row < rows; ++row) {
      Request request = make(row);
      request.max_tokens = kTokens;
      request.sampling.seed = static_cast<std::uint64_t>(row) + 1;
      stepper.add(std::move(request)).value();
    }
    while (!stepper.idle()) benchmark::DoNotOptimize(stepper.infer().data());
  });
}

void compare_on(benchmark::State& state, Request (*make)(std::int32_t row), const char* device) {
  const auto rows = static_cast<std::int32_t>(state.range(0));
  Stepper guessing = stepper_with(SpeculationKind::kSuffix, rows, device);
  Stepper plain = stepper_with(SpeculationKind::kOff, rows, device);
  compare(
      state, rows * kTokens, [&] { return run(guessing, make, rows); },
      [&] { return run(plain, make, rows); });
  add_inverse(state, "tokens_over_plain");
  const EngineStats stats = guessing.stats();
  state.counters["steps_over_plain"] =
      static_cast<double>(stats.ticks) / static_cast<double>(plain.stats().ticks);
  const auto guessed = static_cast<double>(stats.accepted_guesses + stats.rejected_guesses);
  state.counters["accepted"] =
      guessed > 0 ? static_cast<double>(stats.accepted_guesses) / guessed : 0;
}

void speculation(benchmark::State& state, Request (*make)(std::int32_t row)) {
  compare_on(state, make, "cpu");
}

void gpu_speculation(benchmark::State& state, Request (*make)(std::int32_t row)) {
  const auto gpus = cuda::list_devices();
  if (!gpus || gpus->empty()) return state.SkipWithError("no GPU is here");
  compare_on(state, make, "cuda:0");
}

void arguments(benchmark::internal::Benchmark* one) {
  one->Arg(1)->Arg(8)->Iterations(kPairs)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(speculation, repeats, repeats)->Apply(arguments);
BENCHMARK_CAPTURE(speculation, fills, fills)->Apply(arguments);
BENCHMARK_CAPTURE(speculation, tells, tells)->Apply(arguments);
BENCHMARK_CAPTURE(speculation, chats, chats)->Apply(arguments);
BENCHMARK_CAPTURE(speculation, noise, noise)->Apply(arguments);
// A GPU fills in structured output without guesses.
BENCHMARK_CAPTURE(gpu_speculation, repeats, repeats)->Apply(arguments);
BENCHMARK_CAPTURE(gpu_speculation, tells, tells)->Apply(arguments);
BENCHMARK_CAPTURE(gpu_speculation, chats, chats)->Apply(arguments);
BENCHMARK_CAPTURE(gpu_speculation, noise, noise)->Apply(arguments);

}  // namespace
}  // namespace weft::bench
