// The cost of finding prefixes. Looks up a long prompt in the tree, against comparing all its
// tokens once, which any exact look-up must do: `ratio` is our time over that; `ms` is our time.
// Then ticks of a scheduler that keeps pages which no group ever finds, against one without pages.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/scheduler.h"

namespace weft {
namespace {

constexpr std::int32_t kPageTokens = 16;
constexpr std::int32_t kVocabulary = 128'000;

std::unique_ptr<Group> group_of(std::vector<TokenId> prompt) {
  GroupSpec spec;
  spec.prompt = std::move(prompt);
  spec.sampling = std::make_shared<const SamplingParams>();
  auto group = std::make_unique<Group>(std::move(spec));
  group->encoded = true;
  group->make_sequences();
  return group;
}

/// A memory full of ended prompts, half of which begin alike.
class FullMemory {
 public:
  explicit FullMemory(std::int32_t prompt)
      : memory_(clock_, limits_for(prompt), KvLayout::kPages, true) {
    std::vector<TokenId> text(static_cast<std::size_t>(prompt));
    for (TokenId& token : text) token = draw();
    for (int i = 0; i < 4; ++i) {
      // First a prompt that is there as a whole, then texts that leave it after a half, a quarter
      // ...
      leave(text);
      if (i == 0) asked_ = group_of(text);
      for (std::size_t j = text.size() >> static_cast<unsigned>(i + 1); j < text.size(); ++j) {
        text[j] = draw();
      }
    }
  }

  [[nodiscard]] const Group& asked() const { return *asked_; }
  [[nodiscard]] std::int32_t look_up() {
    return memory_.finder().count(*asked_, asked_->sequences[0], asked_->prompt_tokens() - 1);
  }

 private:
  static DeviceLimits limits_for(std::int32_t prompt) {
    DeviceLimits limits;
    limits.rows = 4;
    limits.page_tokens = kPageTokens;
    limits.step_tokens = 512;
    limits.context = prompt;
    limits.pages = 4 * limits.pages_per_row();
    limits.vocabulary = kVocabulary;
    return limits;
  }
  TokenId draw() { return static_cast<TokenId>(random_() % kVocabulary); }
  void leave(const std::vector<TokenId>& text) {
    const auto group = group_of(text);
    Sequence& sequence = group->sequences[0];
    sequence.progress.begin(memory_.finder().take(*group, sequence, group->prompt_tokens() - 1));
    if (!memory_.extend(sequence, group->prompt_tokens())) return;
    sequence.progress.plan(sequence.progress.to_plan());
    sequence.progress.verify();
    memory_.prefixes().keep(*group, sequence);
    memory_.release(*group, sequence);
  }

  std::mt19937_64 random_{1};
  PlanClock clock_;
  KvMemory memory_;
  std::unique_ptr<Group> asked_;
};

void look_up_prompt(benchmark::State& state) {
  const auto prompt = static_cast<std::int32_t>(state.range(0));
  FullMemory memory(prompt);
  const std::vector<TokenId>& tokens = memory.asked().spec.prompt;
  const std::vector<TokenId> same(tokens);
  if (memory.look_up() != (prompt - 1) / kPageTokens) state.SkipWithError("not all is found");
  bench::compare(
      state, prompt,
      [&] { return bench::seconds([&] { benchmark::DoNotOptimize(memory.look_up()); }); },
      [&] {
        return bench::seconds([&] { benchmark::DoNotOptimize(std::ranges::equal(tokens, same)); });
      });
  state.counters["ms"] = prompt * state.counters["ours_ns"] / 1e6;
}

BENCHMARK(look_up_prompt)
    ->Arg(2'000)
    ->Arg(131'072)
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

class NobodyListens final : public SchedulerListener {
 public:
  void on_begin(Group& /*group*/) override {}
  void on_token(Group& /*group*/, std::int32_t /*sequence*/, const SampleResult& /*result*/,
                std::span<const TokenLogprob> /*top*/, SequenceEnd /*end*/) override {}
  void on_end(Group& /*group*/, GroupEnd /*how*/, const Error& /*error*/) override {}
};

/// A scheduler whose rows all decode, with prompts and outputs that have nothing in common. New
/// requests begin when others end.
class BusyScheduler {
 public:
  BusyScheduler(std::int32_t rows, bool cache)
      : options_(options_for(rows, cache)), scheduler_(options_, nobody_) {
    tick_.reserve(options_.limits);
    for (std::int32_t i = 0; i < rows; ++i) submit(kOutput * i / rows + 1);
    for (int i = 0; i < 2 * kOutput; ++i) step();
  }

  void step() {
    const std::size_t running = scheduler_.stats().running;
    for (std::size_t i = running; std::cmp_less(i, options_.limits.rows); ++i) submit(kOutput);
    if (!scheduler_.plan(TimePoint{}, tick_)) return;
    for (std::size_t i = 0; i < tick_.plan.samples.size(); ++i) {
      tick_.result.samples.push_back({draw(), -1.0F, 0, 0, 0});
    }
    scheduler_.complete(tick_);
  }

 private:
  static constexpr std::int32_t kPrompt = 256;
  static constexpr std::int32_t kOutput = 256;

  static SchedulerOptions options_for(std::int32_t rows, bool cache) {
    SchedulerOptions options;
    options.limits.rows = rows;
    options.limits.page_tokens = kPageTokens;
    options.limits.step_tokens = 1024;
    options.limits.context = 1024;
    options.limits.pages = 2 * rows * (kPrompt + kOutput) / kPageTokens;
    options.limits.vocabulary = kVocabulary;
    options.cache = cache;
    return options;
  }
  TokenId draw() { return static_cast<TokenId>(random_() % kVocabulary); }
  void submit(std::int32_t output) {
    std::vector<TokenId> prompt(kPrompt);
    for (TokenId& token : prompt) token = draw();
    GroupSpec spec;
    spec.prompt = std::move(prompt);
    spec.sampling = std::make_shared<const SamplingParams>();
    spec.max_tokens = output;
    auto group = std::make_unique<Group>(std::move(spec));
    group->order = ++order_;
    scheduler_.submit(std::move(group), TimePoint{});
  }

  const SchedulerOptions options_;
  std::mt19937_64 random_{1};
  std::uint64_t order_ = 0;
  NobodyListens nobody_;
  Scheduler scheduler_;
  Tick tick_;
};

void ticks_without_hits(benchmark::State& state) {
  const auto rows = static_cast<std::int32_t>(state.range(0));
  BusyScheduler ours(rows, true);
  BusyScheduler peer(rows, false);
  constexpr int kTicks = 256;
  // Processor time is used, because a tick of some ten microseconds easily takes twice as long
  // beside other programs.
  const auto run = [](BusyScheduler& scheduler) {
    const std::clock_t begin = std::clock();
    for (int i = 0; i < kTicks; ++i) scheduler.step();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  bench::compare(state, kTicks, [&] { return run(ours); }, [&] { return run(peer); });
}

BENCHMARK(ticks_without_hits)
    ->Arg(256)
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weft
