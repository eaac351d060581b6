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

TEST_F(SchedulerWindowTest, APathWhoseBeginningIsGoneIsNotFound) {
  SchedulerOptions options = sliding();
  options.limits.pages = 30;
  start(options);
  const Ask runs_on{.prompt = 61, .max_tokens = 40, .text = 5};
  GroupOutcome& first = submit(runs_on);
  while (first.outputs[0].size() < 10) ASSERT_TRUE(tick());
  // What the first one gave back is the oldest that is idle, and leads to what it has.
  submit({.prompt = 96, .max_tokens = 1, .text = 6});
  submit({.prompt = 96, .max_tokens = 1, .text = 7});
  while (std::ranges::any_of(outcomes_,
                             [](const GroupOutcome& one) { return one.number > 1 && !one.end; })) {
    ASSERT_TRUE(tick());
  }
  EXPECT_GT(scheduler_->stats().prefixes.given_up, 0U);
  finish_all();
  EXPECT_EQ(tokens_fed_by({{.prompt = 61, .max_tokens = 1, .text = 5}}), 61U);
}

TEST_F(SchedulerWindowTest, TheEndOfAPathIsGivenUpFirstOnceNobodyHasIt) {
  SchedulerOptions options = sliding();
  options.limits.pages = 30;
  start(options);
  tokens_fed_by({{.prompt = 81, .max_tokens = 1, .text = 5}});  // 20 pages, of which it had five
  tokens_fed_by({{.prompt = 61, .max_tokens = 1, .text = 6}});  // 16 pages, the last not full
  EXPECT_EQ(tokens_fed_by({{.prompt = 81, .max_tokens = 1, .text = 5}}), 81U - 14 * 4);
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
