// One choice by Sampler, including the copy of its logits, as a ratio to reading the same logits
// once by plain loops in the widest registers, measured in turn. The time is the thread's processor
// time. Logits are in the caches, as they are where a model just wrote them, and each choice has a
// text of 2000 tokens behind it.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/kernels/peaks/plain_read.h"
#include "weft/sampling/sampler.h"

namespace weft {
namespace {

constexpr std::size_t kRows = 32;
constexpr std::size_t kTextTokens = 2000;

struct Setting {
  const char* name;
  SamplingParams params;
};

std::vector<Setting> settings() {
  const SamplingParams everything{.logit_bias = {{1, 2}},
                                  .bad_tokens = {2},
                                  .penalties = {.repetition = 1.1F, .frequency = 0.1F},
                                  .dry = {.multiplier = 0.8F},
                                  .temperature = 0.9F,
                                  .dynamic_temperature = {.range = 0.2F},
                                  .top_k = 1000,
                                  .tfs_z = 0.98F,
                                  .typical_p = 0.98F,
                                  .top_p = 0.98F,
                                  .min_p = 0.001F,
                                  .xtc = {.probability = 0.5F},
                                  .mirostat = {.version = 2},
                                  .top_logprobs = 20};
  return {{"greedy", {.temperature = 0}},
          {"temperature", {}},
          {"top_k_top_p", {.temperature = 0.8F, .top_k = 50, .top_p = 0.95F}},
          {"top_p_min_p", {.temperature = 0.8F, .top_p = 0.95F, .min_p = 0.05F}},
          {"greedy_logprobs", {.temperature = 0, .top_logprobs = 20}},
          {"penalties", {.penalties = {.repetition = 1.1F, .presence = 0.1F}, .temperature = 0}},
          {"dry", {.dry = {.multiplier = 0.8F}, .temperature = 0}},
          {"fsd", {.fsd = {.alpha = 0.5F}}},
          {"typical", {.typical_p = 0.9F}},
          {"mirostat_1", {.mirostat = {.version = 1}}},
          {"everything", everything}};
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The logits of a batch, and the samplers that choose from them.
class Batch {
 public:
  Batch(std::size_t vocabulary, const SamplingParams& params)
      : rows_(kRows),
        logits_(vocabulary),
        sampler_(vocabulary, 2 * kTextTokens),
        scratch_(vocabulary) {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal(0, 2.5F);
    for (auto& row : rows_) {
      row.resize(vocabulary);
      for (float& logit : row) logit = normal(random);
    }
    // The text resembles real texts: few tokens are frequent, many are rare.
    std::vector<TokenId> text(kTextTokens);
    std::geometric_distribution<TokenId> token(0.01);
    for (TokenId& one : text) one = std::min(token(random), static_cast<TokenId>(vocabulary - 1));
    sampler_.start(std::make_shared<const SamplingParams>(params), {}, 1, kTextTokens / 2);
    sampler_.observe(text);
  }

  /// Returns the seconds for one choice in each row.
  double choose() {
    const double begin = processor_seconds();
    for (const auto& row : rows_) {
      std::ranges::copy(row, logits_.begin());
      benchmark::DoNotOptimize(sampler_.sample(logits_, scratch_).token);
    }
    return processor_seconds() - begin;
  }

  /// Returns the seconds for reading as many rows.
  double read() {
    const auto words =
        std::span(reinterpret_cast<const std::uint64_t*>(logits_.data()), logits_.size() / 2);
    const double begin = processor_seconds();
    for (std::size_t i = 0; i < kRows; ++i) benchmark::DoNotOptimize(add_up(words));
    return processor_seconds() - begin;
  }

 private:
  std::vector<std::vector<float>> rows_;
  std::vector<float> logits_;  ///< logits of the current row
  Sampler sampler_;
  SamplerScratch scratch_;
};

void choice_against_reading(benchmark::State& state) {
  const Setting setting = settings()[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(setting.name);
  Batch batch(static_cast<std::size_t>(state.range(1)), setting.params);
  bench::compare(state, kRows, [&] { return batch.choose(); }, [&] { return batch.read(); });
}

void every_setting(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"setting", "vocabulary"});
  for (const std::int64_t vocabulary : {32000, 128000}) {
    for (std::size_t i = 0; i < settings().size(); ++i) {
      benchmark->Args({static_cast<std::int64_t>(i), vocabulary});
    }
  }
  benchmark->Iterations(bench::kPairs)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(choice_against_reading)->Apply(every_setting);

}  // namespace
}  // namespace weft
