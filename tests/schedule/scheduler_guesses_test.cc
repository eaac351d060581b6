#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

constexpr std::int32_t kGuesses = 3;

/// A device that guesses. The fixture compares each token with what the model gives without.
class SchedulerGuessesTest : public SchedulerFixture {
 protected:
  void start_guessing(std::function<std::int32_t(std::int32_t)> right,
                      SchedulerOptions options = roomy()) {
    options.limits.guesses = kGuesses;
    right_guesses_ = std::move(right);
    start(options);
  }
  static std::int32_t all(std::int32_t guesses) { return guesses; }
  static std::int32_t none(std::int32_t /*guesses*/) { return 0; }
  /// Each number in turn.
  static std::function<std::int32_t(std::int32_t)> in_turn() {
    return [next = 0](std::int32_t guesses) mutable { return next++ % (guesses + 1); };
  }
};

TEST_F(SchedulerGuessesTest, AStepGivesATokenForEachRightGuessAndOneMore) {
  start_guessing(all);
  const GroupOutcome& one = submit({.max_tokens = 1 + 5 * (kGuesses + 1)});
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
  EXPECT_EQ(device_->steps(), 1U + 5U) << "the prompt, and what follows its token";
}

TEST_F(SchedulerGuessesTest, WrongGuessesCostNoStep) {
  start_guessing(none);
  const GroupOutcome& one = submit({.max_tokens = 21});
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
  EXPECT_LE(device_->steps(), 21U + 2U);
}

TEST_F(SchedulerGuessesTest, APlanIsMadeBeforeItIsKnownWhereItsSequenceGoesOn) {
  start_guessing(in_turn());
  const GroupOutcome& one = submit({.max_tokens = 60});
  ASSERT_TRUE(plan());  // the prompt
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(one)->guesses, kGuesses);
  EXPECT_EQ(entry_of(one)->unsure, 0);
  run();
  ASSERT_TRUE(plan());
  const PlanEntry ahead = *entry_of(one);
  EXPECT_EQ(ahead.first_id, kLastToken);
  EXPECT_EQ(ahead.unsure, kGuesses);
  EXPECT_EQ(ahead.start, 4 + 1 + kGuesses) << "if all are right";
  run();
  EXPECT_EQ(one.outputs[0].size(), 1U + 1U) << "none was";
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(one)->start, 4 + 1 + 1 + kGuesses);
  EXPECT_EQ(entry_of(one)->unsure, kGuesses);
}

TEST_F(SchedulerGuessesTest, WhateverIsRightOutputsStayTheSame) {
  for (const std::int32_t stages : {1, 2, 3}) {
    for (const std::int32_t page_tokens : {1, 4}) {
      SchedulerOptions options = roomy();
      options.limits.stages = stages;
      options.limits.page_tokens = page_tokens;
      start_guessing(in_turn(), options);
      for (std::int32_t most = 1; most <= 12; ++most) {
        submit({.prompt = most, .max_tokens = most, .sequences = 1 + most % 3, .text = 1});
      }
      submit({.max_tokens = 20, .beams = 3});
      submit({.max_tokens = 40, .has_forced = true});
      submit({.max_tokens = 40, .has_reader = true});
      finish_all();
      for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.end, GroupEnd::kDone);
    }
  }
}

TEST_F(SchedulerGuessesTest, AnEndTokenAmongRightGuessesIsTheLast) {
  start_guessing(all);
  const GroupOutcome& whole = submit({.max_tokens = 20, .text = 1});
  finish_all();
  for (const TokenId last : std::vector(whole.outputs[0])) {
    const GroupOutcome& one = submit({.max_tokens = 20, .end_tokens = {last}, .text = 1});
    finish_all();
    EXPECT_EQ(one.outputs[0].back(), last);
  }
}

TEST_F(SchedulerGuessesTest, PagesOfWrongGuessesComeBackWithTheResult) {
  SchedulerOptions options = roomy();
  options.limits.page_tokens = 1;
  options.cache = false;
  start_guessing(none, options);
  submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_EQ(pages_used(), 4 + 1 + kGuesses);
  run();
  EXPECT_EQ(pages_used(), 4 + 1);
}

TEST_F(SchedulerGuessesTest, NobodyGivesWayForAGuess) {
  SchedulerOptions options = roomy();
  options.limits.pages = 5;
  options.limits.context = 20;
  options.cache = false;
  start_guessing(all, options);
  const GroupOutcome& first = submit({.prompt = 7, .max_tokens = 8});
  const GroupOutcome& second = submit({.prompt = 7, .max_tokens = 8});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(first)->guesses, kGuesses) << "in the last free page";
  EXPECT_EQ(entry_of(second)->guesses, 0);
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  finish_all();
  EXPECT_EQ(second.outputs[0], alone(second));
}

TEST_F(SchedulerGuessesTest, GuessesStayWithinTheStepsTokens) {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  options.limits.step_tokens = 6;
  start_guessing(in_turn(), options);
  for (int i = 0; i < 4; ++i) submit({.max_tokens = 30});
  finish_all();  // the fixture looks at each plan
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerGuessesTest, ASequenceThatGivesWayLeavesItsGuesses) {
  SchedulerOptions options = roomy();
  options.limits.pages = 12;
  options.limits.context = 40;
  start_guessing(in_turn(), options);
  for (int i = 0; i < 6; ++i) submit({.prompt = 6, .max_tokens = 30});
  finish_all();
  EXPECT_GT(scheduler_->stats().preemptions, 0U);
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
}

}  // namespace
}  // namespace weft::test
