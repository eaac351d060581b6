// Tests of rows with state beside their pages. Each token that the device gives is compared with
// what the model gives a group that runs alone, and depends on the row's state: so a state that is
// lost, or is another's, is a wrong token.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/gpu/plan.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerStateTest : public SchedulerFixture {
 protected:
  /// Pages of 4 tokens; a snapshot takes 2, and is made each `every` pages.
  static SchedulerOptions with_state(std::int32_t every = 0) {
    SchedulerOptions options = roomy();
    options.limits.state_bytes = sizeof(std::uint64_t);
    options.limits.snapshot_pages = 2;
    options.limits.snapshot_every = every;
    return options;
  }
  /// Returns how many tokens the device computes for it alone.
  std::uint64_t tokens_fed_by(const Ask& ask) {
    const std::uint64_t before = device_->tokens();
    submit(ask);
    finish_all();
    return device_->tokens() - before;
  }
  [[nodiscard]] PrefixStats prefixes() const { return scheduler_->stats().prefixes; }
};

TEST_F(SchedulerStateTest, APromptIsComputedUpToItsLastWholePageAndThenKept) {
  start(with_state());
  submit({.prompt = 14, .max_tokens = 1});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().entries.size(), 1U);
  EXPECT_EQ(newest().entries[0].count, 12);
  ASSERT_EQ(newest().snapshots.size(), 1U);
  EXPECT_EQ(newest().snapshots[0].row, newest().entries[0].row);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().entries[0].count, 2);
  EXPECT_TRUE(newest().snapshots.empty());
  finish_all();
  EXPECT_EQ(prefixes().snapshots, 1);
}

TEST_F(SchedulerStateTest, TheSamePromptBeginsWithTheStateAtItsEnd) {
  start(with_state());
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1}), 41U);
  submit({.prompt = 41, .max_tokens = 4, .text = 1});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().restores.size(), 1U);
  EXPECT_EQ(newest().starts[0].history_tokens, 40);
  finish_all();
  EXPECT_EQ(outcomes_.back().cached, 40);
  EXPECT_EQ(prefixes().restored, 1U);
}

TEST_F(SchedulerStateTest, AConversationGoesOnFromTheEndOfItsPrompt) {
  start(with_state());
  submit({.prompt = 21, .max_tokens = 30, .text = 1});
  finish_all();
  EXPECT_EQ(tokens_fed_by({.prompt = 10, .max_tokens = 1, .continues = 1}), 61U - 20);
}

TEST_F(SchedulerStateTest, AnOutputIsKeptEachSoManyPages) {
  start(with_state(3));
  submit({.prompt = 21, .max_tokens = 30, .text = 1});
  finish_all();
  EXPECT_EQ(prefixes().snapshots, 5) << "at 12, 20, 24, 36 and 48";
  EXPECT_EQ(tokens_fed_by({.prompt = 10, .max_tokens = 1, .continues = 1}), 61U - 48);
}

TEST_F(SchedulerStateTest, PagesWithoutASnapshotAreNotGoneOnFrom) {
  start(with_state());
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1}), 41U);
  EXPECT_EQ(tokens_fed_by({.prompt = 30, .max_tokens = 1, .text = 1}), 30U);
  EXPECT_EQ(prefixes().restored, 0U);
  EXPECT_EQ(tokens_fed_by({.prompt = 32, .max_tokens = 1, .text = 1}), 32U - 28)
      << "that one was computed to there";
}

TEST_F(SchedulerStateTest, WhoseKeyItIsCountsForSnapshots) {
  start(with_state());
  tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "a"});
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "b"}), 41U);
}

TEST_F(SchedulerStateTest, OutputsOfAPromptBeginWithItsState) {
  start(with_state());
  submit({.prompt = 21, .max_tokens = 9, .sequences = 3});
  finish_all();
}

TEST_F(SchedulerStateTest, RowsThatMoveKeepTheirState) {
  start(with_state());
  submit({.prompt = 9, .max_tokens = 9});
  submit({.prompt = 9, .max_tokens = 2});
  submit({.prompt = 9, .max_tokens = 20});
  finish_all();
  EXPECT_GT(scheduler_->stats().moved_rows, 0U);
}

TEST_F(SchedulerStateTest, WhoGaveWayGoesOnFromItsSnapshot) {
  SchedulerOptions options = with_state();
  options.limits.rows = 1;
  start(options);
  GroupOutcome& batch = submit({.prompt = 41, .max_tokens = 20, .cls = RequestClass::kBatch});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  submit({.prompt = 41, .max_tokens = 4});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(batch));
  finish_all();
  EXPECT_EQ(batch.begun, 2);
  EXPECT_EQ(prefixes().restored, 1U);
}

TEST_F(SchedulerStateTest, SnapshotsGoBeforeAnyGroupGivesWay) {
  SchedulerOptions options = with_state(1);
  options.limits.pages = 18;
  start(options);
  // It needs all pages in the end.
  submit({.prompt = 25, .max_tokens = 48});
  finish_all();
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  EXPECT_EQ(outcomes_.back().begun, 1);
}

TEST_F(SchedulerStateTest, ASnapshotGoesToHostMemoryWithItsPageAndIsRestoredFromThere) {
  SchedulerOptions options = with_state();
  options.limits.pages = 18;
  options.limits.host_pages = 32;
  start(options);
  const Ask first{.prompt = 41, .max_tokens = 1, .text = 1};
  EXPECT_EQ(tokens_fed_by(first), 41U);
  EXPECT_EQ(tokens_fed_by({.prompt = 69, .max_tokens = 1, .text = 2}), 69U);
  EXPECT_EQ(prefixes().given_up, 0U);
  submit(first);
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().restores.size(), 1U);
  const auto page = static_cast<std::size_t>(newest().restores[0].first_page);
  EXPECT_GE(newest().pages[page], options.limits.pages);
  finish_all();
  EXPECT_EQ(outcomes_.back().cached, 40);
}

TEST_F(SchedulerStateTest, ASnapshotOfAPromptThatIsWithdrawnIsNotMade) {
  SchedulerOptions options = with_state();
  options.limits.step_tokens = 24;
  options.target_inter_token = std::chrono::microseconds(1);
  start(options);
  submit({.prompt = 17, .max_tokens = 2, .cls = RequestClass::kBatch});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().snapshots.size(), 1U);
  submit({.prompt = 21, .max_tokens = 2});
  amend();
  for (const PlanSnapshot& one : newest().snapshots) {
    EXPECT_TRUE(std::ranges::any_of(newest().entries,
                                    [&](const PlanEntry& entry) { return entry.row == one.row; }));
  }
  finish_all();
}

TEST_F(SchedulerStateTest, ALostStepForgetsSnapshots) {
  start(with_state());
  tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1});
  submit({.prompt = 9});
  ASSERT_TRUE(plan());
  lose();
  EXPECT_EQ(prefixes().snapshots, 0);
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1}), 41U);
}

TEST_F(SchedulerStateTest, ABeamSearchIsRefused) {
  start(with_state());
  SamplingParams sampling;
  sampling.beams.num_beams = 2;
  GroupSpec spec;
  spec.prompt = {1, 2};
  spec.sequences = 2;
  spec.sampling = std::make_shared<const SamplingParams>(sampling);
  EXPECT_EQ(scheduler_->never_fits(spec), "a beam search needs a model without state");
}

TEST_F(SchedulerStateTest, InSlabsStatesAreComputedFromTheBeginning) {
  SchedulerOptions options = with_state(2);
  options.layout = KvLayout::kSlab;
  options.cache = false;
  start(options);
  tokens_fed_by({.prompt = 41, .max_tokens = 9, .sequences = 2, .text = 1});
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1}), 41U);
}

}  // namespace
}  // namespace weft::test
