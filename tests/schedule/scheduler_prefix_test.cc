// Tests of prefixes that are computed once: which group finds which pages, and when.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerPrefixTest : public SchedulerFixture {
 protected:
  /// Returns how many tokens the device was fed by groups that run until all have ended.
  std::uint64_t tokens_fed_by(std::initializer_list<Ask> asks) {
    const std::uint64_t before = device_->tokens();
    for (const Ask& ask : asks) submit(ask);
    finish_all();
    return device_->tokens() - before;
  }
  [[nodiscard]] PrefixStats prefixes() const { return scheduler_->stats().prefixes; }
};

TEST_F(SchedulerPrefixTest, APromptThatWasComputedIsNotComputedAgain) {
  start(roomy());
  EXPECT_EQ(tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 5}}), 21U);
  EXPECT_EQ(prefixes().pages, 5);
  EXPECT_EQ(pages_used(), 0) << "what is kept counts as free";
  EXPECT_EQ(tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 5}}), 1U);
  EXPECT_EQ(prefixes().hits, 1U);
  EXPECT_EQ(prefixes().lookups, 2U);
  EXPECT_EQ(prefixes().found, 20U);
  EXPECT_EQ(outcomes_.back().cached, 20);
}

TEST_F(SchedulerPrefixTest, TheLastTokenOfAPromptIsAlwaysComputed) {
  start(roomy());
  tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}});
  // The fifth page is copied, and its last token written again.
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}}), 1U);
  EXPECT_EQ(outcomes_.back().cached, 19);
}

TEST_F(SchedulerPrefixTest, NothingIsKeptWithoutACache) {
  SchedulerOptions options = roomy();
  options.cache = false;
  start(options);
  tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 5}});
  EXPECT_EQ(prefixes().pages, 0);
  EXPECT_EQ(tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 5}}), 21U);
}

TEST_F(SchedulerPrefixTest, ThePageWherePromptsPartIsCopiedForOneOfThem) {
  start(roomy());
  tokens_fed_by({{.prompt = 14, .max_tokens = 12, .seed = 1, .text = 5}});
  const GroupOutcome& first = outcomes_.back();
  // 14 tokens of the text are three pages and half of one that goes on with the first output.
  submit({.prompt = 16, .max_tokens = 3, .seed = 2, .text = 5});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().copies.size(), 1U);
  EXPECT_EQ(tokens_of(newest()), 2);
  finish_all();
  EXPECT_EQ(outcomes_.back().outputs[0], alone(outcomes_.back()));
  EXPECT_EQ(first.outputs[0], alone(first));
}

TEST_F(SchedulerPrefixTest, ALittleOfAPageIsNotWorthACopy) {
  SchedulerOptions options = roomy();
  options.limits.page_tokens = 16;
  start(options);
  tokens_fed_by({{.prompt = 3, .max_tokens = 20, .text = 5}});
  submit({.prompt = 10, .max_tokens = 1, .text = 5});  // three tokens alike
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().copies.empty());
  EXPECT_EQ(tokens_of(newest()), 10);
  finish_all();
}

TEST_F(SchedulerPrefixTest, ASecondTurnFindsTheFirstWithItsOutput) {
  start(roomy());
  tokens_fed_by({{.prompt = 10, .max_tokens = 11}});
  // 10 + 11 tokens, of which the last was never computed.
  EXPECT_EQ(tokens_fed_by({{.prompt = 7, .max_tokens = 1, .continues = 1}}), 28U - 20);
}

TEST_F(SchedulerPrefixTest, TheOutputOfWhoStillRunsIsFoundAgainAndAgain) {
  start(roomy());
  GroupOutcome& first = submit({.prompt = 10, .max_tokens = 60});
  for (const std::size_t outputs : {11U, 31U}) {
    while (first.outputs[0].size() < outputs) ASSERT_TRUE(tick());
    GroupOutcome& next = submit({.prompt = 7, .max_tokens = 1, .continues = 1});
    while (!next.end) ASSERT_TRUE(tick());
    // All but the newest token are written, and of what is not a full page nothing is found.
    const auto written = static_cast<std::int32_t>(10 + outputs - 1);
    EXPECT_EQ(next.cached, written - written % 4);
  }
  EXPECT_TRUE(runs(first));
  finish_all();
  EXPECT_EQ(first.outputs[0], alone(first));
}

TEST_F(SchedulerPrefixTest, WhoLeavesARunningGroupsTextAnywhereFindsWhatIsBefore) {
  start(roomy());
  GroupOutcome& first = submit({.prompt = 41, .max_tokens = 80, .text = 5});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  for (const std::int32_t alike : {21, 5, 33, 41}) {
    GroupOutcome& other = submit({.prompt = alike, .max_tokens = 9, .seed = 9, .text = 5});
    while (!other.end) ASSERT_TRUE(tick());
    EXPECT_EQ(other.cached, alike - 1);
    EXPECT_EQ(other.outputs[0], alone(other));
  }
  EXPECT_TRUE(runs(first));
  finish_all();
  EXPECT_EQ(first.outputs[0], alone(first));
  EXPECT_EQ(tokens_fed_by({{.prompt = 3, .max_tokens = 1, .continues = 1}}), 124U - 120);
}

TEST_F(SchedulerPrefixTest, AFirstPageThatAnotherStillHasLeavesTheRestIdle) {
  SchedulerOptions options = roomy();
  options.limits.pages = 24;
  start(options);
  GroupOutcome& first = submit({.prompt = 21, .max_tokens = 20, .seed = 1, .text = 5});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  // It has one page of the first's, and does not look behind it.
  GroupOutcome& short_one = submit({.prompt = 5, .max_tokens = 80, .seed = 2, .text = 5});
  ASSERT_TRUE(tick());
  EXPECT_EQ(short_one.cached, 4);
  end(first);
  EXPECT_EQ(prefixes().pages, 5);
  EXPECT_EQ(prefixes().idle, 4);
  // What is idle makes room for its outputs.
  finish_all();
  EXPECT_EQ(short_one.outputs[0], alone(short_one));
}

TEST_F(SchedulerPrefixTest, NobodyFindsPagesOfAnotherDomainOrOfOtherAngles) {
  start(roomy());
  tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5, .domain = "a"}});
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5, .domain = "b"}}), 20U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}}), 20U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5, .long_context = true}}), 20U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5, .domain = "a"}}), 1U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5, .long_context = true}}), 1U);
}

TEST_F(SchedulerPrefixTest, WhatAnotherKeyHasComputedChangesNoTickToTheFirstToken) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 32;
  start(options);
  const auto ticks_to_first_token = [&](const Ask& ask) {
    GroupOutcome& one = submit(ask);
    int ticks = 0;
    for (; one.outputs[0].empty() && ticks < 100; ++ticks) EXPECT_TRUE(tick());
    finish_all();
    return ticks;
  };
  const Ask own{.prompt = 81, .max_tokens = 2, .text = 5, .domain = "a"};
  Ask others = own;
  others.domain = "b";
  const int cold = ticks_to_first_token(own);
  EXPECT_EQ(cold, 3);
  EXPECT_EQ(ticks_to_first_token(others), cold) << "left by another";
  EXPECT_EQ(ticks_to_first_token(others), 1);
  // And while another computes the same, one does not wait for it.
  submit({.prompt = 81, .max_tokens = 2, .text = 6, .domain = "a"});
  GroupOutcome& beside = submit({.prompt = 81, .max_tokens = 2, .text = 6, .domain = "b"});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(beside));
  finish_all();
}

TEST_F(SchedulerPrefixTest, AReaderOfAllTokensComputesThemAllAndOthersFindThem) {
  start(roomy());
  const Ask reads{.prompt = 20, .max_tokens = 1, .text = 5, .has_reader = true};
  EXPECT_EQ(tokens_fed_by({reads}), 20U);
  EXPECT_EQ(tokens_fed_by({reads}), 20U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}}), 1U);
}

TEST_F(SchedulerPrefixTest, AnEncodersInputIsNeverTakenForAnother) {
  SchedulerOptions options = roomy();
  options.limits.cross_pages = 16;
  start(options);
  const Ask ask{.prompt = 20, .encoder_input = 6, .max_tokens = 1, .text = 5};
  EXPECT_EQ(tokens_fed_by({ask}), 20U);
  EXPECT_EQ(tokens_fed_by({ask}), 20U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}}), 20U);
}

TEST_F(SchedulerPrefixTest, SlabsKeepNothing) {
  SchedulerOptions options = roomy();
  options.layout = KvLayout::kSlab;
  start(options);
  tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}});
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}}), 20U);
}

TEST_F(SchedulerPrefixTest, KeptPagesAreGivenUpBeforeAnybodyWaitsTheOldestLeavesFirst) {
  SchedulerOptions options = roomy();
  options.limits.pages = 16;
  start(options);
  tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 1}});
  tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 2}});
  EXPECT_EQ(prefixes().pages, 10);
  tokens_fed_by({{.prompt = 33, .max_tokens = 1, .text = 3}});  // 9 pages
  EXPECT_EQ(prefixes().given_up, 3U);
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  // The second text was used later. Of the first the pages at its end went first.
  EXPECT_EQ(tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 2}}), 1U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 21, .max_tokens = 1, .text = 1}}), 21U - 8);
}

TEST_F(SchedulerPrefixTest, AGroupThatGaveWayFindsItsPagesWhenItComesBack) {
  SchedulerOptions options = roomy();
  options.limits.rows = 1;
  start(options);
  GroupOutcome& batch = submit({.prompt = 24, .max_tokens = 20, .cls = RequestClass::kBatch});
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(tick());
  submit({.prompt = 4, .max_tokens = 1});
  ASSERT_TRUE(tick());
  ASSERT_FALSE(runs(batch));
  ASSERT_TRUE(plan());
  // 24 + 8 of 9 tokens were computed.
  EXPECT_EQ(tokens_of(newest()), 1);
  finish_all();
  EXPECT_EQ(batch.outputs[0], alone(batch));
  EXPECT_EQ(batch.cached, 0) << "what it found of its own is not told";
}

TEST_F(SchedulerPrefixTest, OfTwoThatComeTogetherTheSecondTakesThePagesOfTheFirst) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 96;
  start(options);
  submit({.prompt = 81, .max_tokens = 2, .seed = 1, .text = 5});
  GroupOutcome& second = submit({.prompt = 81, .max_tokens = 2, .seed = 2, .text = 5});
  GroupOutcome& other = submit({.prompt = 5, .max_tokens = 2});
  ASSERT_TRUE(plan());
  EXPECT_FALSE(runs(second));
  EXPECT_TRUE(runs(other)) << "who needs nothing of the first does not wait";
  // The next plan reads what this one writes, though it has not run.
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(second));
  ASSERT_NE(entry_of(second), nullptr);
  EXPECT_EQ(entry_of(second)->count, 1);
  finish_all();
  EXPECT_EQ(device_->tokens(), 81U + 1 + 5 + 1 + 1 + 1);
}

TEST_F(SchedulerPrefixTest, WhoWaitsForAnothersPagesComputesThemWhereThatOneEnds) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 32;
  start(options);
  GroupOutcome& first = submit({.prompt = 81, .max_tokens = 2, .seed = 1, .text = 5});
  GroupOutcome& second = submit({.prompt = 81, .max_tokens = 2, .seed = 2, .text = 5});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(second));
  end(first);
  ASSERT_TRUE(plan());
  ASSERT_TRUE(runs(second));
  EXPECT_EQ(entry_of(second)->start, 32) << "what two plans had written, less what was in doubt";
  finish_all();
  EXPECT_EQ(second.outputs[0], alone(second));
}

TEST_F(SchedulerPrefixTest, AFewTokensAreComputedBesideThoseOfAnother) {
  start(roomy());
  submit({.prompt = 21, .max_tokens = 2, .seed = 1, .text = 5});
  GroupOutcome& second = submit({.prompt = 21, .max_tokens = 2, .seed = 2, .text = 5});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(second));
  // Both have pages of their own now; of those that are alike one is kept.
  finish_all();
  EXPECT_EQ(prefixes().pages, 5);
}

TEST_F(SchedulerPrefixTest, AChatDoesNotWaitForBatch) {
  start(roomy());
  submit({.prompt = 81, .max_tokens = 2, .cls = RequestClass::kBatch, .seed = 1, .text = 5});
  GroupOutcome& chat = submit({.prompt = 81, .max_tokens = 2, .seed = 2, .text = 5});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(chat));
  finish_all();
}

TEST_F(SchedulerPrefixTest, WhatAPlanWritesIsNotFoundInThatPlan) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 96;
  start(options);
  submit({.prompt = 41, .max_tokens = 1, .seed = 1, .text = 5});
  ASSERT_TRUE(plan());
  EXPECT_FALSE(plan()) << "there is nothing more to do";
  GroupOutcome& second = submit({.prompt = 41, .max_tokens = 1, .seed = 2, .text = 5});
  amend();
  if (runs(second)) {
    EXPECT_EQ(entry_of(second)->start, 0);
  }
  finish_all();
  EXPECT_EQ(second.outputs[0], alone(second));
}

TEST_F(SchedulerPrefixTest, APlanThatIsLostLeavesNothingToFind) {
  start(roomy());
  tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 4}});
  submit({.prompt = 20, .max_tokens = 9, .text = 5});
  ASSERT_TRUE(plan());
  ASSERT_TRUE(plan());
  lose();
  lose();
  EXPECT_EQ(prefixes().pages, 0);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 5}}), 20U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .text = 4}}), 20U);
}

TEST_F(SchedulerPrefixTest, WhatIsSharedWithARunningGroupTakesNoRoomASecondTime) {
  SchedulerOptions options = roomy();
  options.limits.pages = 16;
  start(options);
  GroupOutcome& first = submit({.prompt = 41, .max_tokens = 8, .seed = 1, .text = 5});
  ASSERT_TRUE(tick());
  GroupOutcome& second = submit({.prompt = 41, .max_tokens = 8, .seed = 2, .text = 5});
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(first));
  EXPECT_TRUE(runs(second)) << "ten pages of both, and a few of each";
  finish_all();
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
}

TEST_F(SchedulerPrefixTest, ALookUpTakesTheLongestOfWhatSeveralHaveLeft) {
  start(roomy());
  for (const std::int32_t length : {9, 33, 17}) {
    tokens_fed_by({{.prompt = length, .max_tokens = 1, .text = 5}});
  }
  EXPECT_EQ(tokens_fed_by({{.prompt = 40, .max_tokens = 1, .text = 5}}), 8U);
}

TEST_F(SchedulerPrefixTest, TenThousandCancelsLeaveNoPageUnaccountedFor) {
  SchedulerOptions options = roomy();
  options.limits.pages = 80;
  start(options);
  std::mt19937_64 numbers(1);
  const auto random = [&](std::uint64_t below) { return numbers() % below; };
  for (int cancelled = 0; cancelled < 10'000 && !HasFailure(); ++cancelled) {
    Ask ask;
    ask.prompt = static_cast<std::int32_t>(1 + random(60));
    ask.max_tokens = static_cast<std::int32_t>(1 + random(12));
    ask.text = 1 + random(12);
    ask.seed = random(1000);
    if (random(4) == 0) ask.sequences = 2;
    GroupOutcome& one = submit(ask);
    for (std::uint64_t i = random(4); i > 0; --i) {
      if (planned() < 2) plan();
      if (random(2) == 0 && planned() > 0 && scheduler_->changed()) amend();
      if (random(2) == 0 && planned() > 0) run();
    }
    if (random(10) > 0) end(one);
    while (outcomes_.size() > 64 && outcomes_.front().end) outcomes_.pop_front();
  }
  for (GroupOutcome& one : outcomes_) end(one);
  while (planned() > 0) run();
  const PrefixStats stats = prefixes();
  EXPECT_EQ(stats.pages, stats.idle);
  EXPECT_EQ(pages_used(), 0);
  EXPECT_GT(stats.hits, 1'000U);
  EXPECT_GT(stats.given_up, 1'000U);
}

}  // namespace
}  // namespace weft::test
