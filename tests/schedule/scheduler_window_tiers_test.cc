// Tests of models all of whose layers have a window, whose pages go to host memory and to files.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>

#include "weft/tests/schedule/scheduler_files_fixture.h"

namespace weft::test {
namespace {

/// Pages of four tokens, a window of 16, and room for two that run: 64 tokens.
SchedulerOptions crowded(std::int32_t places) {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  options.limits.window = 16;
  options.limits.step_tokens = 12;
  options.limits.pages = 16;
  options.limits.host_pages = places;
  return options;
}
/// Room for a whole conversation, so that all of it is written before it is given up.
SchedulerOptions roomier(std::int32_t places) {
  SchedulerOptions options = crowded(places);
  options.limits.pages = 32;
  return options;
}
/// What the window behind 100 tokens needs: a token at 100 sees those from 85 on.
constexpr std::uint64_t kWindowPages = 4;

/// A conversation of 101 tokens, whose first 25 pages are full, and its next turn.
const Ask turn{.prompt = 61, .max_tokens = 40, .text = 5};
const Ask next{.prompt = 4, .max_tokens = 1, .continues = 1};
constexpr std::uint64_t kOfNext = 105;
const Ask other{.prompt = 70, .max_tokens = 1};

class SchedulerWindowTiersTest : public SchedulerFilesFixture {
 protected:
  [[nodiscard]] PrefixStats prefixes() const { return scheduler_->stats().prefixes; }
  void start_with(std::int32_t places) { start_with_files(crowded(places), folder_.path()); }
};

TEST_F(SchedulerWindowTiersTest, OfAConversationInHostMemoryItsLastWindowComesBack) {
  start(crowded(64));
  tokens_fed_by(turn);
  tokens_fed_by(other);
  ASSERT_EQ(prefixes().hollow, 0);
  const std::uint64_t before = prefixes().came_in;
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
  EXPECT_EQ(outcomes_.back().cached, 100);
  EXPECT_EQ(prefixes().came_in - before, kWindowPages);
  EXPECT_EQ(prefixes().hollow_hits, 0U) << "its beginning is in host memory";
}

TEST_F(SchedulerWindowTiersTest, AConversationIsFoundThoughItsBeginningLeftHostMemoryToo) {
  start(crowded(24));
  tokens_fed_by(turn);
  tokens_fed_by(other);
  EXPECT_GT(prefixes().hollow, 0);
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
  EXPECT_EQ(prefixes().hollow_hits, 1U);
  EXPECT_EQ(prefixes().came_in, kWindowPages);
}

TEST_F(SchedulerWindowTiersTest, WhatWasOnTheDeviceIsFoundThereThoughItsBeginningIsInHostMemory) {
  start(crowded(64));
  tokens_fed_by(turn);
  EXPECT_GT(prefixes().on_host, 0);
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
  EXPECT_EQ(prefixes().came_in, 0U);
}

TEST_F(SchedulerWindowTiersTest, AnotherDomainDoesNotFindAConversationsEndInAnyMemory) {
  start_with(24);
  Ask of_a = turn;
  of_a.domain = "a";
  Ask of_b = next;
  of_b.domain = "b";
  tokens_fed_by(of_a);
  tokens_fed_by(other);
  EXPECT_EQ(tokens_fed_by(of_b), kOfNext);
  start_with(24);
  EXPECT_EQ(tokens_fed_by(of_b), kOfNext - 100) << "its own, from files";
  Ask long_angles = next;
  long_angles.domain = "a";
  long_angles.long_context = true;
  EXPECT_EQ(tokens_fed_by(long_angles), kOfNext);
}

TEST_F(SchedulerWindowTiersTest, WhatIsSoonerComputedThanCopiedGoesOnFromTheDevice) {
  const auto took = [](const Plan& plan) {
    return std::chrono::microseconds(500 + 10 * tokens_of(plan));
  };
  for (const bool copies_are_slow : {true, false}) {
    // Four pages for what computes 100 tokens in a millisecond.
    start(crowded(64), took, std::chrono::microseconds(copies_are_slow ? 2'000 : 20));
    for (int i = 0; i < 20; ++i) tokens_fed_by({.prompt = 101, .max_tokens = 8});
    const std::size_t first = outcomes_.size() + 1;
    tokens_fed_by(turn);
    tokens_fed_by(other);
    const std::uint64_t fed = tokens_fed_by({.prompt = 4, .max_tokens = 1, .continues = first});
    EXPECT_EQ(fed, copies_are_slow ? kOfNext : kOfNext - 100);
    TearDown();
    outcomes_.clear();
    ended_ = 0;
  }
}

TEST_F(SchedulerWindowTiersTest, AfterARestartTheLastWindowAloneIsRead) {
  start_with(0);
  tokens_fed_by(turn);
  start_with(0);
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
  EXPECT_EQ(outcomes_.back().cached, 100);
  EXPECT_EQ(files_->stats().read, kWindowPages);
  EXPECT_EQ(prefixes().hollow_hits, 1U);
}

TEST_F(SchedulerWindowTiersTest, APathInFilesIsFoundThoughThoseOfItsBeginningAreGone) {
  start_with(0);
  tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 5});
  files_->close();
  std::set<std::filesystem::path> of_beginning;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path().extension() == ".kv") of_beginning.insert(file.path());
  }
  ASSERT_EQ(of_beginning.size(), 15U);
  start_with(0);
  tokens_fed_by(turn);
  files_->close();
  for (const auto& file : of_beginning) std::filesystem::remove(file);
  start_with(0);
  EXPECT_EQ(tokens_fed_by({.prompt = 4, .max_tokens = 1, .continues = 2}), kOfNext - 100);
  EXPECT_EQ(files_->stats().read, kWindowPages);
  // Behind 60 tokens nothing of the window is there, so the same text ends there for nobody.
  EXPECT_EQ(tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 5}), 61U);
}

TEST_F(SchedulerWindowTiersTest, WhatTheDeviceAndHostMemoryHaveOfAWindowIsNotRead) {
  start_with_files(roomier(2), folder_.path());
  tokens_fed_by(turn);
  wait_until_written(25);
  // All pages, so that of the conversation's last four two are in files alone.
  tokens_fed_by({.prompt = 128, .max_tokens = 1});
  const std::uint64_t came_in = prefixes().came_in;
  ASSERT_EQ(prefixes().on_host, 2);
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
  EXPECT_EQ(files_->stats().read, kWindowPages - 2);
  EXPECT_EQ(prefixes().came_in - came_in, 2U);
}

TEST_F(SchedulerWindowTiersTest, WhatTheDeviceHasOfAWindowDoesNotGoForWhatIsRead) {
  start_with_files(roomier(0), folder_.path());
  tokens_fed_by(turn);
  wait_until_written(25);
  // All pages but two, which are the conversation's and were used longest ago.
  tokens_fed_by({.prompt = 120, .max_tokens = 1});
  ASSERT_EQ(prefixes().idle, 32);
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
  EXPECT_EQ(files_->stats().read, kWindowPages - 2);
}

TEST_F(SchedulerWindowTiersTest, OfTwoThatNeedTheSameWindowTheSecondWaitsForTheRead) {
  start_with(0);
  tokens_fed_by(turn);
  start_with(0);
  const std::uint64_t before = device_->tokens();
  GroupOutcome& first = submit(next);
  GroupOutcome& second = submit({.prompt = 5, .max_tokens = 1, .continues = 1});
  EXPECT_FALSE(plan());
  EXPECT_FALSE(runs(first));
  EXPECT_FALSE(runs(second));
  finish();
  EXPECT_EQ(files_->stats().read, kWindowPages);
  EXPECT_GE(second.cached, 100);
  EXPECT_LE(device_->tokens() - before, 5U + 6);
}

TEST_F(SchedulerWindowTiersTest, NobodyWaitsForAReadThatIsOfNoUseToIt) {
  start_with(0);
  tokens_fed_by(turn);
  start_with(0);
  GroupOutcome& waits = submit(next);
  // It begins like that, and of what its own window reaches nothing is read for the other.
  GroupOutcome& shorter = submit({.prompt = 61, .max_tokens = 1, .text = 5});
  EXPECT_FALSE(plan());
  wait_for_reads();
  EXPECT_EQ(files_->stats().read, 2 * kWindowPages) << "it has its own read";
  finish();
  EXPECT_EQ(waits.cached, 100);
  EXPECT_EQ(shorter.cached, 60);
}

TEST_F(SchedulerWindowTiersTest, OutputsOfOneRequestAndBeamsGoOnFromFiles) {
  SchedulerOptions options = crowded(8);
  options.limits.pages = 48;
  start_with_files(options, folder_.path());
  tokens_fed_by(turn);
  start_with_files(options, folder_.path());
  submit({.prompt = 5, .max_tokens = 20, .sequences = 3, .continues = 1});
  submit({.prompt = 6, .max_tokens = 20, .beams = 2, .continues = 1});
  finish();
  EXPECT_EQ(files_->stats().read, kWindowPages);
  EXPECT_GE(outcomes_[1].cached, 100);
  EXPECT_GE(outcomes_[2].cached, 100);
}

TEST_F(SchedulerWindowTiersTest, ALostStepForgetsHollowPathsAndFilesHaveThemStill) {
  start_with_files(roomier(8), folder_.path());
  tokens_fed_by(turn);
  wait_until_written(25);
  tokens_fed_by({.prompt = 100, .max_tokens = 1});
  EXPECT_GT(prefixes().hollow, 0);
  EXPECT_GT(prefixes().on_host, 0);
  submit({.prompt = 5, .max_tokens = 3});
  ASSERT_TRUE(plan());
  lose();
  EXPECT_EQ(prefixes().hollow, 0);
  EXPECT_EQ(prefixes().on_host, 0);
  EXPECT_EQ(tokens_fed_by(next), kOfNext - 100);
}

}  // namespace
}  // namespace weft::test
