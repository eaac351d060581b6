#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "weft/schedule/step/chunk_planner.h"
#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerJumpTest : public SchedulerFixture {
 protected:
  /// How many steps it takes until the groups have ended.
  std::uint64_t steps_to_end() {
    const std::uint64_t before = device_->steps();
    finish_all();
    return device_->steps() - before;
  }
};

TEST_F(SchedulerJumpTest, ComputesWhatHasToComeInOneStep) {
  SchedulerOptions options = roomy();
  options.jump_ahead = false;
  start(options);
  submit({.max_tokens = 100, .has_forced = true});
  EXPECT_GE(steps_to_end(), 100U);
  start(roomy());
  const GroupOutcome& one = submit({.max_tokens = 100, .has_forced = true});
  std::uint64_t worth = 0;  // a jump saves as many steps as it has tokens but for one
  const std::uint64_t steps = steps_to_end();
  for (std::size_t i = 0; i < one.outputs[0].size();) {
    const std::size_t forced = forced_behind(one.outputs[0][i]).size();
    worth += forced < 2 ? 0 : std::min(forced, one.outputs[0].size() - i - 1) - 1;
    i += 1 + (forced < 2 ? 0 : forced);
  }
  EXPECT_EQ(one.outputs[0].size(), 100U);
  EXPECT_GT(worth, 20U);
  EXPECT_NEAR(static_cast<double>(steps), 100.0 - static_cast<double>(worth), 2.0);
  EXPECT_GT(scheduler_->stats().forced_tokens, worth);
  EXPECT_EQ(scheduler_->stats().output_tokens, 100U);
  EXPECT_EQ(scheduler_->stats().prompt_tokens, 4U);
}

TEST_F(SchedulerJumpTest, EndsWhereWhatHasToComeDoesNotFit) {
  start(roomy());
  std::set<std::size_t> lengths;
  for (std::int32_t most = 1; most <= 30; ++most) {
    const GroupOutcome& one = submit({.max_tokens = most, .text = 1, .has_forced = true});
    finish_all();
    ASSERT_TRUE(one.end);
    EXPECT_EQ(one.outputs[0].size(), static_cast<std::size_t>(most));
  }
}

TEST_F(SchedulerJumpTest, EndsWithAnEndTokenThatHasToCome) {
  start(roomy());
  const GroupOutcome& whole = submit({.max_tokens = 60, .text = 1, .has_forced = true});
  finish_all();
  for (const TokenId last : whole.outputs[0]) {
    const GroupOutcome& one =
        submit({.max_tokens = 60, .end_tokens = {last}, .text = 1, .has_forced = true});
    finish_all();
    ASSERT_TRUE(one.end);
    EXPECT_EQ(one.outputs[0].back(), last);
  }
}

TEST_F(SchedulerJumpTest, ItsOutputsJumpEachForItself) {
  start(roomy());
  const GroupOutcome& three = submit({.max_tokens = 50, .sequences = 3, .has_forced = true});
  submit({.max_tokens = 50});
  EXPECT_LT(steps_to_end(), 60U);
  for (const auto& output : three.outputs) EXPECT_EQ(output.size(), 50U);
  EXPECT_NE(three.outputs[0], three.outputs[1]);
}

TEST_F(SchedulerJumpTest, WhoAsksForLogprobsGetsEachTokenChosen) {
  start(roomy());
  submit({.max_tokens = 40, .has_forced = true, .logprobs = true});
  EXPECT_GE(steps_to_end(), 40U);
  EXPECT_EQ(scheduler_->stats().forced_tokens, 0U);
}

TEST_F(SchedulerJumpTest, AFullStepLetsJumpsWaitAndNoRow) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = options.limits.rows;
  start(options);
  for (int i = 0; i < options.limits.rows; ++i) submit({.max_tokens = 30, .has_forced = true});
  finish_all();  // the fixture compares each token, and each step with its limits
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0].size(), 30U);
}

TEST_F(SchedulerJumpTest, ManyThatJumpAtOnceDoNotLetAStepTakeLongerThanStreamsMayWait) {
  constexpr std::int32_t kRows = 48;
  const auto play = [&](std::chrono::milliseconds target) {
    SchedulerOptions options = roomy();
    options.limits.rows = kRows;
    options.limits.pages = kRows * 64;
    options.limits.step_tokens = 256;
    options.target_inter_token = target;
    std::int32_t most = 0;
    start(options, [&, steps = 0](const Plan& plan) mutable {
      if (++steps > 50) most = std::max(most, tokens_of(plan));  // the first ones teach it
      return std::chrono::milliseconds(1) * tokens_of(plan);
    });
    for (int i = 0; i < kRows; ++i) submit({.max_tokens = 200, .has_forced = true});
    const std::uint64_t steps = steps_to_end();
    return std::pair(most, steps);
  };
  // More than a token of each row and what jumps get whatever a step takes.
  constexpr std::int32_t kTarget = kRows + ChunkPlanner::kLeastChunk + 4;
  const std::int32_t free = play(std::chrono::milliseconds(0)).first;
  const auto [bound, steps] = play(std::chrono::milliseconds(kTarget));
  EXPECT_GT(free, kTarget + 3) << "they never jump together, and there is nothing to bound";
  EXPECT_LE(bound, kTarget + 3);
  EXPECT_LT(steps, 190U) << "they hardly jump any more";  // 200 without
}

TEST_F(SchedulerJumpTest, AFewTokensBesideManyRowsDoNotMakeAStepLonger) {
  // One that jumps has at most 7 tokens.
  constexpr std::int32_t kRows = 8 * ChunkPlanner::kRowsOfAJumpToken;
  const auto longest_chunk = [&](std::int32_t that_jump) {
    SchedulerOptions options = roomy();
    options.limits.rows = kRows;
    options.limits.pages = kRows * 64;
    options.limits.step_tokens = 256;
    std::int32_t most = 0;
    start(options, [&](const Plan& plan) {
      for (const PlanEntry& entry : plan.entries) {
        if (entry.start >= 4) most = std::max(most, entry.count);  // behind the prompt
      }
      return std::chrono::milliseconds(1);
    });
    for (std::int32_t i = 0; i < kRows; ++i) {
      submit({.max_tokens = 100, .text = static_cast<std::size_t>(i), .has_forced = i < that_jump});
    }
    finish_all();
    EXPECT_GT(scheduler_->stats().forced_tokens, 0U);
    return most;
  };
  EXPECT_EQ(longest_chunk(1), 1);
  EXPECT_GT(longest_chunk(16), 1);
}

TEST_F(SchedulerJumpTest, APromptOfChatDoesNotTakeAJumpOfBatchOutOfAPlan) {
  start(roomy());
  const GroupOutcome& batch =
      submit({.max_tokens = 200, .cls = RequestClass::kBatch, .has_forced = true});
  const auto jumps = [&] {
    const PlanEntry* entry = entry_of(batch);
    return entry != nullptr && entry->count > 1 && entry->start >= 4;
  };
  bool found = false;
  for (int i = 0; i < 100 && !found; ++i) {
    ASSERT_TRUE(plan());
    found = jumps();
    if (!found) run();
  }
  ASSERT_TRUE(found);
  submit({.prompt = 30});
  amend();
  EXPECT_TRUE(jumps());
  finish_all();
}

}  // namespace
}  // namespace weft::test
