// Tests of models all of whose layers have a window: what a sequence holds, and what others find.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

/// Pages of four tokens, a window of 16 and steps of 12: a sequence holds 8 pages at most.
SchedulerOptions sliding() {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  options.limits.window = 16;
  options.limits.step_tokens = 12;
  return options;
}
constexpr std::int32_t kMostHeld = 8;

class SchedulerWindowTest : public SchedulerFixture {
 protected:
  /// Runs all that was submitted and returns the most pages that were in use.
  std::int32_t most_used() {
    std::int32_t most = 0;
    for (int i = 0; i < 10'000 && (planned() > 0 || plan()); ++i) {
      plan();
      most = std::max(most, pages_used());
      run();
    }
    return most;
  }
  std::uint64_t tokens_fed_by(std::initializer_list<Ask> asks) {
    const std::uint64_t before = device_->tokens();
    for (const Ask& ask : asks) submit(ask);
    finish_all();
    return device_->tokens() - before;
  }
};

TEST_F(SchedulerWindowTest, ASequenceHoldsItsWindowAndAChunkWhateverItsLength) {
  for (const bool cache : {true, false}) {
    SchedulerOptions options = sliding();
    options.cache = cache;
    start(options);
    const GroupOutcome& long_one = submit({.prompt = 130, .max_tokens = 120});
    EXPECT_LE(most_used(), kMostHeld);
    EXPECT_EQ(long_one.outputs[0], alone(long_one));
    EXPECT_EQ(pages_used(), 0);
    TearDown();
    outcomes_.clear();
  }
}

TEST_F(SchedulerWindowTest, WhileItDecodesItHoldsItsWindowAndAPage) {
  start(sliding());
  submit({.prompt = 4, .max_tokens = 100});
  EXPECT_LE(most_used(), 5);
}

TEST_F(SchedulerWindowTest, WhatHasRoomForTheWindowFitsWhateverItsLength) {
  for (const AdmissionMode admission : {AdmissionMode::kReserve, AdmissionMode::kOptimistic}) {
    SchedulerOptions options = sliding();
    options.limits.pages = 2 * kMostHeld;
    options.admission = admission;
    start(options);
    for (int i = 0; i < 3; ++i) submit({.prompt = 100, .max_tokens = 60});
    ASSERT_TRUE(plan());
    EXPECT_EQ(scheduler_->stats().running, 2U) << "and as many run as have room";
    finish_all();
    for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
    if (admission == AdmissionMode::kReserve) {
      EXPECT_EQ(scheduler_->stats().preemptions, 0U);
    }
    TearDown();
    outcomes_.clear();
  }
}

TEST_F(SchedulerWindowTest, WhatHasNoRoomForItsWindowsNeverFits) {
  SchedulerOptions options = sliding();
  options.limits.pages = kMostHeld;
  start(options);
  GroupSpec spec;
  spec.sampling = std::make_shared<const SamplingParams>();
  spec.prompt.assign(200, TokenId{1});
  EXPECT_EQ(scheduler_->never_fits(spec), "");
  spec.sequences = 2;
  EXPECT_EQ(scheduler_->never_fits(spec),
            "2 sequences of 201 tokens take 16 pages, the engine has 8");
}

TEST_F(SchedulerWindowTest, OutputsOfOneRequestAndBeamsGiveBackWhatTheyShared) {
  start(sliding());
  submit({.prompt = 70, .max_tokens = 60, .sequences = 3});
  submit({.prompt = 50, .max_tokens = 60, .beams = 2});
  EXPECT_LE(most_used(), 5 * kMostHeld);
  EXPECT_EQ(pages_used(), 0);
}

TEST_F(SchedulerWindowTest, PagesBeforeTheWindowAreFoundUntilTheirRoomIsNeeded) {
  start(sliding());
  const Ask ask{.prompt = 101, .max_tokens = 1, .text = 5};
  EXPECT_EQ(tokens_fed_by({ask}), 101U);
  EXPECT_EQ(scheduler_->stats().prefixes.pages, 25);
  EXPECT_EQ(tokens_fed_by({ask}), 1U);
  EXPECT_EQ(outcomes_.back().cached, 100);
}

TEST_F(SchedulerWindowTest, WhoFindsALongBeginningHoldsTheWindowOfItAlone) {
  start(sliding());
  tokens_fed_by({{.prompt = 101, .max_tokens = 1, .text = 5}});
  submit({.prompt = 101, .max_tokens = 8, .text = 5});
  ASSERT_TRUE(plan());
  EXPECT_LE(pages_used(), 5);
  finish_all();
}

/// Room for two that run: 64 tokens, fewer than the conversations of these tests have.
SchedulerOptions crowded() {
  SchedulerOptions options = sliding();
  options.limits.pages = 2 * kMostHeld;
  return options;
}

TEST_F(SchedulerWindowTest, AConversationIsFoundAtItsEndThoughItsBeginningIsGone) {
  start(crowded());
  submit({.prompt = 61, .max_tokens = 40, .text = 5});
  finish_all();
  EXPECT_GT(scheduler_->stats().prefixes.hollow, 0);
  EXPECT_EQ(scheduler_->stats().prefixes.hollow_hits, 0U);
  // 101 tokens, of which the last one's keys are not needed before, and four more.
  EXPECT_EQ(tokens_fed_by({{.prompt = 4, .max_tokens = 30, .continues = 1}}), 5U + 29);
  EXPECT_EQ(outcomes_.back().cached, 100);
  EXPECT_EQ(scheduler_->stats().prefixes.hollow_hits, 1U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 1, .max_tokens = 1, .continues = 2}}), 136U - 132);
  EXPECT_EQ(scheduler_->stats().prefixes.hollow_hits, 2U);
}

TEST_F(SchedulerWindowTest, WhoFindsTheEndOfAConversationHoldsItsWindowAlone) {
  start(crowded());
  submit({.prompt = 61, .max_tokens = 40, .text = 5});
  finish_all();
  submit({.prompt = 4, .max_tokens = 60, .continues = 1});
  EXPECT_LE(most_used(), kMostHeld);
  EXPECT_EQ(outcomes_.back().cached, 100);
}

TEST_F(SchedulerWindowTest, OutputsOfOneRequestGoOnTogetherFromAConversationsEnd) {
  SchedulerOptions options = crowded();
  options.limits.pages = 5 * kMostHeld;
  start(options);
  submit({.prompt = 161, .max_tokens = 40, .text = 5});
  finish_all();
  submit({.prompt = 5, .max_tokens = 20, .sequences = 3, .continues = 1});
  submit({.prompt = 6, .max_tokens = 20, .beams = 2, .continues = 1});
  finish_all();
  EXPECT_EQ(scheduler_->stats().prefixes.hollow_hits, 2U);
  EXPECT_GE(outcomes_[1].cached, 200);
  EXPECT_GE(outcomes_[2].cached, 200) << "perhaps the beginning of the other's page as well";
}

TEST_F(SchedulerWindowTest, AnotherDomainDoesNotFindAConversationsEnd) {
  start(crowded());
  submit({.prompt = 61, .max_tokens = 40, .text = 5, .domain = "a"});
  finish_all();
  EXPECT_EQ(tokens_fed_by({{.prompt = 4, .max_tokens = 1, .continues = 1, .domain = "b"}}), 105U);
  EXPECT_EQ(scheduler_->stats().prefixes.hollow_hits, 0U);
}

TEST_F(SchedulerWindowTest, APathIsNotFoundWhereAPageOfItsLastWindowIsGone) {
  start(crowded());
  submit({.prompt = 61, .max_tokens = 80, .text = 5});
  finish_all();
  // It ends behind 60 tokens of the first one, of which the window's are gone.
  EXPECT_EQ(tokens_fed_by({{.prompt = 61, .max_tokens = 1, .text = 5}}), 61U);
  EXPECT_EQ(outcomes_.back().cached, 0);
}

TEST_F(SchedulerWindowTest, WhatTheNextTurnNeedsCountsAsUsedUntilTheConversationPauses) {
  SchedulerOptions options = sliding();
  options.limits.page_tokens = 16;
  options.limits.window = 18;
  options.limits.pages = 10;
  start(options);
  // Behind its 96th token the window begins in the fifth page, which it gives back soon after.
  GroupOutcome& first = submit({.prompt = 17, .max_tokens = 94, .text = 5});
  while (first.outputs[0].size() < 85) ASSERT_TRUE(tick());
  const GroupOutcome& between = submit({.prompt = 17, .max_tokens = 1, .text = 6});
  while (!between.end) ASSERT_TRUE(tick());
  ASSERT_FALSE(first.end);
  finish_all();
  // Takes the three pages that are free, the first four of the first one, and another.
  tokens_fed_by({{.prompt = 113, .max_tokens = 1, .text = 7}});
  EXPECT_EQ(tokens_fed_by({{.prompt = 20, .max_tokens = 1, .continues = 1}}), 131U - 96);
}

TEST_F(SchedulerWindowTest, WhatIsComputedAgainFillsWhatIsHollow) {
  SchedulerOptions options = crowded();
  options.limits.pages = 40;
  start(options);
  submit({.prompt = 161, .max_tokens = 1, .text = 5});
  finish_all();
  submit({.prompt = 61, .max_tokens = 1, .text = 6});
  finish_all();
  const std::int32_t hollow = scheduler_->stats().prefixes.hollow;
  EXPECT_EQ(hollow, 40 + 16 - 40);
  EXPECT_EQ(tokens_fed_by({{.prompt = 41, .max_tokens = 1, .text = 5}}), 41U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 41, .max_tokens = 1, .text = 5}}), 1U);
  EXPECT_EQ(tokens_fed_by({{.prompt = 161, .max_tokens = 1, .text = 5}}), 1U);
}

TEST_F(SchedulerWindowTest, TheBeginningOfAPathIsGivenUpFirstAsItsEndDoesNotNeedIt) {
  SchedulerOptions options = sliding();
  options.limits.pages = 30;
  start(options);
  tokens_fed_by({{.prompt = 81, .max_tokens = 1, .text = 5}});  // 20 pages, of which it had five
  tokens_fed_by({{.prompt = 61, .max_tokens = 1, .text = 6}});  // 16 pages, the last not full
  EXPECT_EQ(tokens_fed_by({{.prompt = 81, .max_tokens = 1, .text = 5}}), 1U);
}

TEST_F(SchedulerWindowTest, NoMoreNodesAreHollowThanThereArePagesAndARowHas) {
  SchedulerOptions options = crowded();
  start(options);
  const std::int32_t most = options.limits.pages + options.limits.pages_per_row();
  std::int32_t seen = 0;
  // Two at a time, which keep their ends and so what leads there: 2 * 62 pages.
  for (int i = 0; i < 4; ++i) {
    submit({.prompt = 200, .max_tokens = 50});
    submit({.prompt = 200, .max_tokens = 50});
    while (planned() > 0 || plan()) {
      seen = std::max(seen, scheduler_->stats().prefixes.hollow);
      ASSERT_LE(scheduler_->stats().prefixes.hollow, most);
      run();
      plan();
    }
  }
  EXPECT_GT(seen, most * 9 / 10);
}

TEST_F(SchedulerWindowTest, WhoGaveWayGoesOnWithWhatIsThere) {
  SchedulerOptions options = sliding();
  options.limits.pages = 2 * kMostHeld;
  start(options);
  const GroupOutcome& batch = submit({.prompt = 60, .max_tokens = 60, .cls = RequestClass::kBatch});
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(tick());
  submit({.prompt = 60, .max_tokens = 40, .sequences = 2});
  finish_all();
  EXPECT_GT(batch.begun, 1);
  EXPECT_EQ(batch.outputs[0], alone(batch));
}

TEST_F(SchedulerWindowTest, SlabsKeepAllOfARow) {
  SchedulerOptions options = sliding();
  options.layout = KvLayout::kSlab;
  start(options);
  const GroupOutcome& one = submit({.prompt = 60, .max_tokens = 100});
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
}

}  // namespace
}  // namespace weft::test
