#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int32_t kGuesses = 3;

/// A device that guesses. The fixture compares each token with what the model gives without.
class SchedulerGuessesTest : public SchedulerFixture {
 protected:
  void start_guessing(std::function<std::int32_t(std::int32_t)> right,
                      SchedulerOptions options = roomy(),
                      std::function<Duration(const Plan&)> took = {}) {
    options.limits.guesses = kGuesses;
    right_guesses_ = std::move(right);
    start(options, std::move(took));
  }
  /// Steps of 1 ms, and so long for each guess.
  static std::function<Duration(const Plan&)> guesses_take(Duration each) {
    return [each](const Plan& plan) { return milliseconds(1) + guesses_in(plan) * each; };
  }
  static std::int32_t guesses_in(const Plan& plan) {
    std::int32_t sum = 0;
    for (const PlanEntry& entry : plan.entries) sum += entry.guesses;
    return sum;
  }
  /// Runs so many steps, with a plan ahead, and returns the guesses in them.
  std::int32_t guesses_of_steps(int steps) {
    std::int32_t sum = 0;
    for (int i = 0; i < steps && plan(); ++i) {
      sum += guesses_in(newest());
      if (planned() > 1) run();
    }
    return sum;
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
  options.limits.pages = 7;
  options.limits.context = 20;
  options.cache = false;
  start_guessing(all, options);
  const GroupOutcome& first = submit({.prompt = 7, .max_tokens = 8});
  const GroupOutcome& second = submit({.prompt = 7, .max_tokens = 8});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(first)->guesses, kGuesses) << "in a page that nobody needs";
  EXPECT_EQ(entry_of(second)->guesses, 0) << "each may need one of the last two";
  ASSERT_TRUE(plan());
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  run();
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

TEST_F(SchedulerGuessesTest, GuessesAreCountedByWhereTheyWereFound) {
  guess_source_ = GuessSource::kPrediction;
  start_guessing(in_turn());
  submit({.max_tokens = 12});
  finish_all();
  const GuessTallies guesses = scheduler_->stats().guesses;
  const GuessCounts& predicted = guesses.of(GuessSource::kPrediction);
  EXPECT_GT(predicted.accepted, 0);
  EXPECT_GT(predicted.rejected, 0);
  EXPECT_GE(predicted.made, predicted.accepted + predicted.rejected);
  EXPECT_EQ(guesses.of(GuessSource::kOwn).made, 0);
}

TEST_F(SchedulerGuessesTest, WhatBecomesOfGuessesIsCounted) {
  start_guessing(all);
  submit({.max_tokens = 1 + 2 * (kGuesses + 1)});
  finish_all();
  EXPECT_EQ(scheduler_->stats().guesses.total().accepted, 2 * kGuesses);
  EXPECT_EQ(scheduler_->stats().guesses.total().rejected, 0);
  start_guessing(none);
  submit({.max_tokens = 3});
  finish_all();
  EXPECT_EQ(scheduler_->stats().guesses.total().accepted, 0);
  EXPECT_GT(scheduler_->stats().guesses.total().rejected, 0);
}

TEST_F(SchedulerGuessesTest, CheapGuessesThatAreRightAreMadeInEachStep) {
  start_guessing(all, roomy(), guesses_take(microseconds(10)));
  submit({.max_tokens = 240});
  guesses_of_steps(20);
  EXPECT_EQ(guesses_of_steps(20), 20 * kGuesses);
  finish_all();
}

TEST_F(SchedulerGuessesTest, WrongGuessesAreGivenUpAndTriedNowAndThen) {
  start_guessing(none, roomy(), guesses_take(microseconds(100)));
  submit({.max_tokens = 240});
  guesses_of_steps(60);
  const std::int32_t tries = guesses_of_steps(128);
  EXPECT_GT(tries, 0);
  EXPECT_LE(tries, GuessPolicy::kTries * 128 / GuessRecord::kLongestRest);
  finish_all();
}

TEST_F(SchedulerGuessesTest, RightGuessesThatTakeLongerThanStepsAreNotWorthIt) {
  start_guessing(all, roomy(), guesses_take(microseconds(400)));
  for (int i = 0; i < 4; ++i) submit({.max_tokens = 200});
  EXPECT_GT(guesses_of_steps(40), 0) << "it has to be measured";
  EXPECT_LT(guesses_of_steps(100), 20);
  finish_all();
}

TEST_F(SchedulerGuessesTest, GuessesGetTheTimeThatStreamsLeave) {
  SchedulerOptions options = roomy();
  options.target_inter_token = microseconds(1350);
  start_guessing(all, options, guesses_take(microseconds(100)));
  for (int i = 0; i < 4; ++i) submit({.max_tokens = 200});
  guesses_of_steps(40);
  ASSERT_TRUE(plan());
  EXPECT_GT(guesses_in(newest()), 0);
  EXPECT_LE(guesses_in(newest()), 3) << "of 12: 1 ms and 4 * 0.1 ms are more than 1.35 ms";
  run();
  finish_all();
}

TEST_F(SchedulerGuessesTest, NothingIsGuessedWhenTheDeadlineIsOver) {
  start_guessing(all);
  const GroupOutcome& one = submit({.max_tokens = 20});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan(Duration::zero()));
  EXPECT_EQ(entry_of(one)->guesses, 0);
  run();
  ASSERT_TRUE(plan(milliseconds(1)));
  EXPECT_EQ(entry_of(one)->guesses, kGuesses);
  run();
  finish_all();
}

TEST_F(SchedulerGuessesTest, AGroupSaysHowManyGuessesItMayHave) {
  start_guessing(all);
  const GroupOutcome& one = submit({.max_tokens = 30, .most_guesses = 1});
  const GroupOutcome& none = submit({.max_tokens = 30, .most_guesses = 0});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(one)->guesses, 1);
  EXPECT_EQ(entry_of(none)->guesses, 0);
  run();
  finish_all();
}

TEST_F(SchedulerGuessesTest, OnlySequencesThatMayHaveGuessesAreFollowedByADrafter) {
  start_guessing(all);
  submit({.max_tokens = 4});
  submit({.max_tokens = 4, .beams = 2});
  submit({.max_tokens = 4, .has_reader = true});
  submit({.max_tokens = 4, .has_forced = true});
  submit({.max_tokens = 4, .most_guesses = 0});
  ASSERT_TRUE(plan());
  std::vector<bool> may;
  for (const PlanStart& one : newest().starts) may.push_back(one.may_guess);
  EXPECT_EQ(may, (std::vector<bool>{true, false, false, false, false}));
  run();
  finish_all();
}

TEST_F(SchedulerGuessesTest, WhereAllChoicesAreMadeAtOnceNoneOfThemDependsOnGuesses) {
  for (const bool at_once : {false, true}) {
    SchedulerOptions options = roomy();
    options.limits.chooses_at_once = at_once;
    start_guessing(all, options);
    const GroupOutcome& plain = submit({.max_tokens = 8});
    const GroupOutcome& penalized = submit({.max_tokens = 8, .has_penalty = true});
    ASSERT_TRUE(plan());
    std::vector<bool> may;
    for (const PlanStart& one : newest().starts) may.push_back(one.may_guess);
    EXPECT_EQ(may, (std::vector<bool>{true, !at_once}));
    run();
    ASSERT_TRUE(plan());
    EXPECT_GT(entry_of(plain)->guesses, 0);
    EXPECT_EQ(entry_of(penalized)->guesses > 0, !at_once);
    run();
    finish_all();
  }
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

/// A device with a draft model whose guesses take so long, and which speaks in every second entry.
class SchedulerDraftsTest : public SchedulerGuessesTest {
 protected:
  void start_drafting(Duration each, std::function<std::int32_t(std::int32_t)> right,
                      std::int32_t context = 2048) {
    drafting_ = [each](std::int32_t drafted) { return DraftTimes{.drafting = drafted * each}; };
    SchedulerOptions options = roomy();
    options.limits.draft_context = context;
    options.limits.context = 2048;
    options.limits.pages = 1024;
    start_guessing(std::move(right), options, guesses_take(microseconds(10)));
  }
  /// Returns the most drafts of an entry in some plans.
  std::int32_t most_drafts_of_steps(int steps) {
    std::int32_t most = 0;
    for (int i = 0; i < steps && plan(); ++i) {
      for (const PlanEntry& entry : newest().entries) {
        EXPECT_LE(entry.drafts, entry.guesses);
        most = std::max(most, entry.drafts);
      }
      if (planned() > 1) run();
    }
    return most;
  }
};

TEST_F(SchedulerDraftsTest, OutputsStayTheSameWhoeverGuesses) {
  start_drafting(microseconds(20), in_turn());
  for (std::int32_t most = 1; most <= 12; ++most) {
    submit({.prompt = most, .max_tokens = 3 * most, .sequences = 1 + most % 3, .text = 1});
  }
  finish_all();
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.end, GroupEnd::kDone);
  const GuessTallies tallies = scheduler_->stats().guesses;
  EXPECT_GT(tallies.of(GuessSource::kModel).made, 0);
  EXPECT_GT(tallies.of(GuessSource::kOwn).made, 0);
}

TEST_F(SchedulerDraftsTest, ADraftModelThatPaysDraftsAsMuchAsItMay) {
  start_drafting(microseconds(20), all);
  submit({.max_tokens = 400});
  static_cast<void>(most_drafts_of_steps(40));
  EXPECT_EQ(most_drafts_of_steps(20), kGuesses);
}

TEST_F(SchedulerDraftsTest, ADraftModelAsSlowAsTheModelTakesNoGuessesFromLookUps) {
  start_drafting(milliseconds(3), all);
  submit({.max_tokens = 2000});
  static_cast<void>(most_drafts_of_steps(100));
  std::int32_t drafted = 0;
  std::int32_t guessed = 0;
  for (int i = 0; i < 100 && plan(); ++i) {
    drafted += newest().entries.front().drafts;
    guessed += guesses_in(newest());
    if (planned() > 1) run();
  }
  EXPECT_LT(drafted, 40) << "tries alone";
  EXPECT_GT(guessed, 100);
}

TEST_F(SchedulerDraftsTest, NoDraftIsTriedBeyondTheContextOfTheDraftModel) {
  constexpr std::int32_t kContext = 40;
  start_drafting(microseconds(20), none, kContext);
  submit({.prompt = 4, .max_tokens = 400});
  std::int32_t drafted = 0;
  std::int32_t beyond = 0;
  while (plan()) {
    for (const PlanEntry& entry : newest().entries) {
      // The least position that the sequence's newest token may have.
      const std::int32_t newest = entry.start - entry.unsure + entry.count - entry.guesses - 1;
      if (newest >= kContext) {
        EXPECT_EQ(entry.drafts, 0) << newest;
        ++beyond;
      } else {
        EXPECT_LE(newest + entry.drafts, kContext);
        drafted += entry.drafts;
      }
    }
    if (planned() > 1) run();
  }
  EXPECT_GT(drafted, 0) << "within its context";
  EXPECT_GT(beyond, 300);
}

}  // namespace
}  // namespace weft::test
