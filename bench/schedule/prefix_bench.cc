// Looking up a long prompt in the tree of prefixes, against comparing all its tokens once, which
// any exact look-up has to do. `ratio` is our time over that; `ms` is ours.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/schedule/memory/kv_memory.h"

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
  group->sequences.resize(1);
  group->alive = 1;
  return group;
}

/// A memory full of prompts that have ended, half of which begin alike.
class FullMemory {
 public:
  explicit FullMemory(std::int32_t prompt) : memory_(limits_for(prompt), KvLayout::kPages, true) {
    std::vector<TokenId> text(static_cast<std::size_t>(prompt));
    for (TokenId& token : text) token = draw();
    for (int i = 0; i < 4; ++i) {
      // All of a prompt is there, and then texts that leave it after a half, a quarter ...
      leave(text);
      if (i == 0) asked_ = group_of(text);
      for (std::size_t j = text.size() >> static_cast<unsigned>(i + 1); j < text.size(); ++j) {
        text[j] = draw();
      }
    }
  }

  [[nodiscard]] const Group& asked() const { return *asked_; }
  [[nodiscard]] std::int32_t look_up() const {
    return memory_.prefixes().count(*asked_, asked_->sequences[0], asked_->prompt_tokens() - 1);
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
    sequence.computed = memory_.prefixes().take(*group, sequence, group->prompt_tokens() - 1);
    if (!memory_.extend(*group, sequence, group->prompt_tokens())) return;
    sequence.computed = group->prompt_tokens();
    memory_.prefixes().keep(*group, sequence);
    memory_.release(sequence);
  }

  std::mt19937_64 random_{1};
  KvMemory memory_;
  std::unique_ptr<Group> asked_;
};

void look_up_prompt(benchmark::State& state) {
  const auto prompt = static_cast<std::int32_t>(state.range(0));
  const FullMemory memory(prompt);
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

}  // namespace
}  // namespace weft
