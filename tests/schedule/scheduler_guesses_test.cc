#include <gtest/gtest.h>

#include <algorithm>
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

TEST_F(SchedulerGuessesTest, NoPageThatIsKeptIsGivenUpForAGuess) {
  SchedulerOptions options = roomy();
  options.limits.pages = 8;
  options.limits.context = 32;
  start_guessing(none, options);
  submit({.prompt = 16, .max_tokens = 5, .text = 1});
  finish_all();
  const std::int64_t kept = scheduler_->stats().prefixes.pages;
  ASSERT_GE(kept, 4);
  const std::int32_t spare = 8 - static_cast<std::int32_t>(kept);
  // Its prompt and first token fill all that is spare.
  const GroupOutcome& one = submit({.prompt = 4 * spare - 1, .max_tokens = 8, .text = 2});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(one)->guesses, 0);
  EXPECT_EQ(scheduler_->stats().prefixes.given_up, 0U);
  run();
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(one)->guesses, kGuesses) << "in the page that its token needs";
  EXPECT_EQ(scheduler_->stats().prefixes.given_up, 1U);
  run();
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerGuessesTest, APromptThatComesLateGetsTheRoomOfGuesses) {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  options.limits.step_tokens = 8;
  start_guessing(in_turn(), options);
  const GroupOutcome& first = submit({.max_tokens = 30});
  const GroupOutcome& second = submit({.max_tokens = 30});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  ASSERT_EQ(entry_of(first)->guesses, kGuesses);
  ASSERT_EQ(entry_of(second)->guesses, kGuesses) << "the step is full";
  const GroupOutcome& late = submit({.prompt = 6, .max_tokens = 30});
  amend();
  ASSERT_NE(entry_of(late), nullptr);
  EXPECT_EQ(entry_of(late)->count, 6);
  EXPECT_EQ(entry_of(first)->guesses, 0);
  EXPECT_EQ(entry_of(first)->count, 1);
  EXPECT_EQ(newest_shape().decode_tokens, 2);
  EXPECT_EQ(newest_shape().prefill_tokens, 6);
  run();
  finish_all();
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerGuessesTest, ASequenceWithAWindowHoldsNoMorePagesThanItWasPromised) {
  SchedulerOptions options = roomy();
  options.admission = AdmissionMode::kReserve;
  options.limits.window = 4;
  options.limits.page_tokens = 1;
  options.limits.rows = 1;
  options.limits.step_tokens = 1 + kGuesses;
  options.cache = false;
  start_guessing(none, options);
  const GroupOutcome& one = submit({.prompt = 8, .max_tokens = 40});
  std::int64_t most = 0;
  while (plan()) {
    if (one.group != nullptr) {
      EXPECT_LE(pages_used(), one.group->reserved);
    }
    most = std::max<std::int64_t>(most, pages_used());
    if (planned() > 1) run();
  }
  finish_all();
  EXPECT_EQ(most, 4 - 1 + kGuesses + 1 + kGuesses) << "the bound is one that is reached";
}

TEST_F(SchedulerGuessesTest, BeamsReadersAndLogitProcessorsGoWithoutGuesses) {
  start_guessing(all);
  const GroupOutcome& beams = submit({.max_tokens = 12, .beams = 2});
  const GroupOutcome& read = submit({.max_tokens = 12, .has_reader = true});
  while (plan()) {
    for (const GroupOutcome* const one : {&beams, &read}) {
      const PlanEntry* const entry = entry_of(*one);
      EXPECT_TRUE(entry == nullptr || entry->guesses == 0);
    }
    run();
  }
  finish_all();
}

TEST_F(SchedulerGuessesTest, WhatBecomesOfGuessesIsCounted) {
  start_guessing(all);
  submit({.max_tokens = 1 + 2 * (kGuesses + 1)});
  finish_all();
  EXPECT_EQ(scheduler_->stats().guesses.accepted, 2 * kGuesses);
  EXPECT_EQ(scheduler_->stats().guesses.rejected, 0);
  start_guessing(none);
  submit({.max_tokens = 3});
  finish_all();
  EXPECT_EQ(scheduler_->stats().guesses.accepted, 0);
  EXPECT_GT(scheduler_->stats().guesses.rejected, 0);
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
