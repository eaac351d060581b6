#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/sampling_params.h"

namespace weft::test {

using Tokens = std::vector<TokenId>;
using Pages = std::vector<std::int32_t>;

/// The most probable token, with its logprob.
inline std::shared_ptr<const SamplingParams> greedy() {
  SamplingParams params;
  params.temperature = 0;
  params.logprobs = true;
  return std::make_shared<const SamplingParams>(params);
}

/// Puts plans together by hand, one command after the other, and runs them.
class PlanBuilder {
 public:
  PlanBuilder& start(std::int32_t row, std::shared_ptr<const SamplingParams> sampling,
                     std::int32_t prompt, const Tokens& history = {}, std::uint64_t seed = 0) {
    PlanStart start;
    start.row = row;
    start.sampling = std::move(sampling);
    start.seed = seed;
    start.prompt_tokens = prompt;
    start.first_history = add_ids(history);
    start.history_tokens = static_cast<std::int32_t>(history.size());
    plan_.starts.push_back(std::move(start));
    return *this;
  }
  PlanBuilder& table(std::int32_t row, std::int32_t first, const Pages& pages) {
    plan_.tables.push_back({row, first, static_cast<std::int32_t>(plan_.pages.size()),
                            static_cast<std::int32_t>(pages.size())});
    plan_.pages.insert(plan_.pages.end(), pages.begin(), pages.end());
    return *this;
  }
  PlanBuilder& encode(std::int32_t row, const Tokens& input, const Pages& pages) {
    plan_.encodes.push_back({row, add_ids(input), static_cast<std::int32_t>(input.size()),
                             static_cast<std::int32_t>(plan_.pages.size()),
                             static_cast<std::int32_t>(pages.size())});
    plan_.pages.insert(plan_.pages.end(), pages.begin(), pages.end());
    return *this;
  }
  PlanBuilder& feed(std::int32_t row, std::int32_t at, const Tokens& ids) {
    plan_.entries.push_back({row, static_cast<std::int32_t>(ids.size()), at, add_ids(ids)});
    return *this;
  }
  PlanBuilder& feed_last(std::int32_t row, std::int32_t at) {
    plan_.entries.push_back({row, 1, at, kLastToken});
    return *this;
  }
  /// Its last token and guesses behind it, where `unsure` earlier ones may have been wrong.
  PlanBuilder& feed_guesses(std::int32_t row, std::int32_t at, std::int32_t guesses,
                            std::int32_t unsure = 0) {
    plan_.entries.push_back({row, 1 + guesses, at, kLastToken, guesses, unsure});
    return *this;
  }
  /// For `row`, or the row of the last entry.
  PlanBuilder& sample(std::int32_t row = -1) {
    const auto entry = static_cast<std::int32_t>(plan_.entries.size()) - 1;
    plan_.samples.push_back({entry, row < 0 ? plan_.entries.back().row : row});
    return *this;
  }
  Plan& plan() { return plan_; }

  /// Runs the built plan; the next plan is empty.
  StepResult run(StepDevice& device) {
    StepResult result;
    device.run(plan_, result);
    plan_.clear();
    return result;
  }

 private:
  std::int32_t add_ids(const Tokens& ids) {
    const auto first = static_cast<std::int32_t>(plan_.ids.size());
    plan_.ids.insert(plan_.ids.end(), ids.begin(), ids.end());
    return first;
  }

  Plan plan_;
};

/// A prompt of plan_of_everything().
inline const Tokens full_prompt = {3, 17, 42, 9, 61, 5};

/// A plan with everything in it: one row begins with penalties and one without, one forks, pages
/// are copied, one row is chosen on the host.
inline Plan plan_of_everything() {
  SamplingParams params;
  params.temperature = 0;
  params.penalties.presence = 1;
  PlanBuilder plan;
  plan.start(0, std::make_shared<const SamplingParams>(params), 6, {1, 2}).table(0, 0, {0, 1});
  plan.feed(0, 0, full_prompt).sample();
  params = {};
  params.mirostat.version = 2;
  plan.start(1, std::make_shared<const SamplingParams>(params), 6).table(1, 0, {2, 3});
  plan.feed(1, 0, full_prompt).sample();
  plan.plan().copies.push_back({4, 5});
  plan.plan().forks.push_back({.from = 0, .to = 2, .copied_pages = 1, .seed = 3});
  plan.table(2, 0, {6, 7}).sample(2);
  return plan.plan();
}

/// The next one: two of its rows go on.
inline Plan plan_after_everything() {
  PlanBuilder plan;
  plan.feed_last(0, 6).sample().feed_last(1, 6).sample();
  return plan.plan();
}

}  // namespace weft::test
