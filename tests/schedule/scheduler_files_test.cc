// Tests of pages that go to files when no sequence has them, and come back.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "weft/tests/schedule/scheduler_files_fixture.h"

namespace weft::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Tokens that fill ten pages, and one more token.
const Ask ten_pages{.prompt = 41, .max_tokens = 1, .text = 1};

class SchedulerFilesTest : public SchedulerFilesFixture {
 protected:
  [[nodiscard]] SchedulerOptions small() const {
    SchedulerOptions options = roomy();
    options.limits.pages = 16;
    options.limits.host_pages = places_;
    return options;
  }
  void restart() { start_with_files(small(), folder_.path()); }
  void SetUp() override { restart(); }
  /// Starts again with `ten_pages` in files, as after a restart.
  void leave_in_files() {
    tokens_fed_by(ten_pages);
    restart();
  }
  /// The same, with so many places in host memory, once the device needs its pages for others.
  void push_out(std::int32_t places) {
    places_ = places;
    restart();
    tokens_fed_by(ten_pages);
    wait_until_written(10);
    tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2});
  }
  void check_any_course();

  std::int32_t places_ = 0;  // in host memory
};

TEST_F(SchedulerFilesTest, WhatTheDeviceHasNoRoomForIsNotComputedAgain) {
  EXPECT_EQ(tokens_fed_by(ten_pages), 41U);
  wait_until_written(10);
  EXPECT_EQ(tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2}), 61U);
  EXPECT_EQ(scheduler_->stats().prefixes.given_up, 10U);
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
  EXPECT_EQ(outcomes_.back().cached, 40);
  EXPECT_EQ(scheduler_->stats().files.read, 10U);
}

TEST_F(SchedulerFilesTest, WhatWasComputedBeforeARestartIsFoundAfterIt) {
  const Ask first{.prompt = 41, .max_tokens = 6, .text = 1};
  tokens_fed_by(first);
  restart();
  EXPECT_EQ(tokens_fed_by(first), 46U - 40U) << "and its tokens are the same, the fixture checks";
  EXPECT_EQ(outcomes_.back().cached, 40);
  // What was decoded is there as well.
  EXPECT_EQ(tokens_fed_by({.prompt = 3, .max_tokens = 1, .continues = 1}), 50U - 44U);
}

TEST_F(SchedulerFilesTest, APathGoesOnInFilesBehindThePagesOfTheDevice) {
  tokens_fed_by(ten_pages);
  wait_until_written(10);
  restart();
  EXPECT_EQ(tokens_fed_by({.prompt = 21, .max_tokens = 1, .text = 1}), 1U);
  EXPECT_EQ(files_->stats().read, 5U);
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
  EXPECT_EQ(files_->stats().read, 10U);
}

TEST_F(SchedulerFilesTest, WhoseKeyAndWhichAnglesItIsCountsInFilesToo) {
  tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "a"});
  restart();
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "b"}), 41U);
  EXPECT_EQ(tokens_fed_by(ten_pages), 41U);
  EXPECT_EQ(tokens_fed_by(
                {.prompt = 41, .max_tokens = 1, .text = 1, .domain = "a", .long_context = true}),
            41U);
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "a"}), 1U);
}

TEST_F(SchedulerFilesTest, OthersBeginWhileOneWaitsForFiles) {
  leave_in_files();
  GroupOutcome& waits = submit(ten_pages);
  GroupOutcome& other = submit({.prompt = 8, .max_tokens = 2});
  ASSERT_TRUE(plan());
  EXPECT_FALSE(runs(waits));
  EXPECT_TRUE(runs(other));
  EXPECT_EQ(scheduler_->wake_at(), now_ + milliseconds(1));
  EXPECT_EQ(scheduler_->stats().pages_free, 16 - 2) << "what is lent can be had";
  finish();
  EXPECT_EQ(waits.cached, 40);
  EXPECT_FALSE(scheduler_->wake_at());
}

TEST_F(SchedulerFilesTest, OfTwoThatWaitForTheSameFilesTheSecondWaitsForTheRead) {
  leave_in_files();
  const std::uint64_t before = device_->tokens();
  GroupOutcome& first = submit({.prompt = 41, .max_tokens = 1, .seed = 1, .text = 1});
  GroupOutcome& second = submit({.prompt = 41, .max_tokens = 1, .seed = 2, .text = 1});
  GroupOutcome& shorter = submit({.prompt = 22, .max_tokens = 1, .text = 1});
  EXPECT_FALSE(plan());
  EXPECT_FALSE(runs(second));
  EXPECT_FALSE(runs(shorter));
  EXPECT_EQ(scheduler_->stats().pages_free, 16);
  finish();
  EXPECT_EQ(files_->stats().read, 10U);
  EXPECT_EQ(first.cached, 40);
  EXPECT_EQ(second.cached, 40);
  EXPECT_EQ(shorter.cached, 21) << "five pages, and one token of the sixth";
  EXPECT_EQ(device_->tokens() - before, 3U);
}

TEST_F(SchedulerFilesTest, WhoWaitsForAnothersReadLooksForTheRestItself) {
  leave_in_files();
  GroupOutcome& first = submit({.prompt = 22, .max_tokens = 1, .seed = 1, .text = 1});
  GroupOutcome& second = submit({.prompt = 41, .max_tokens = 1, .seed = 2, .text = 1});
  EXPECT_FALSE(plan());
  end(first);  // the read goes on
  finish();
  EXPECT_EQ(files_->stats().read, 10U);
  EXPECT_EQ(second.cached, 40);
}

TEST_F(SchedulerFilesTest, NobodyWaitsForAReadOfAnotherDomain) {
  leave_in_files();
  submit(ten_pages);
  GroupOutcome& other = submit({.prompt = 21, .max_tokens = 1, .text = 1, .domain = "a"});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(other));
  finish();
  EXPECT_EQ(other.cached, 0);
}

TEST_F(SchedulerFilesTest, SoManyWaitForOthersReadsAndNoMore) {
  SchedulerOptions options = small();
  options.limits.pages = 64;
  start_with_files(options, folder_.path());
  tokens_fed_by(ten_pages);
  start_with_files(options, folder_.path());
  submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(plan());  // and as long as it has not run nothing is read
  submit(ten_pages);
  amend();
  for (std::size_t i = 0; i < PageFetches::kMostFollowers; ++i) {
    GroupOutcome& follower = submit(ten_pages);
    amend();
    EXPECT_FALSE(runs(follower)) << i;
    end(follower);  // it is counted until the read is over
  }
  GroupOutcome& last = submit(ten_pages);
  amend();
  finish();
  EXPECT_EQ(last.outputs[0], alone(last));
  EXPECT_EQ(files_->stats().read, 20U) << "the last has read them for itself";
}

TEST_F(SchedulerFilesTest, WhoNeedsTheRoomGetsItFromWhatIsBeingRead) {
  leave_in_files();
  GroupOutcome& waits = submit(ten_pages);
  GroupOutcome& other = submit({.prompt = 61, .max_tokens = 2});
  ASSERT_TRUE(plan());
  EXPECT_FALSE(runs(waits));
  EXPECT_TRUE(runs(other)) << "all pages but the ten that are lent are six";
  scheduler_->check_invariants();
  finish();
  EXPECT_TRUE(waits.end);
}

TEST_F(SchedulerFilesTest, NothingIsReadIntoAPageThatATickMayStillWrite) {
  leave_in_files();
  submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(plan());
  GroupOutcome& waits = submit(ten_pages);
  ASSERT_TRUE(plan());
  EXPECT_FALSE(plan());
  EXPECT_FALSE(runs(waits)) << "what is planned has not run";
  wait_for_reads();
  EXPECT_EQ(files_->stats().read, 0U);
  finish();
  EXPECT_EQ(waits.cached, 40);
}

TEST_F(SchedulerFilesTest, NothingIsReadIntoAPageThatTheTickInTheMakingStillCopies) {
  tokens_fed_by({.prompt = 48, .max_tokens = 1, .text = 2});
  restart();
  tokens_fed_by({.prompt = 17, .max_tokens = 1, .text = 1});
  tokens_fed_by({.prompt = 17, .max_tokens = 1, .text = 3});
  // These take a copy of their text's second page, and the first of the two pages is lent.
  submit({.prompt = 8, .max_tokens = 1, .text = 1});
  submit({.prompt = 8, .max_tokens = 1, .text = 3});
  GroupOutcome& waits = submit({.prompt = 48, .max_tokens = 1, .text = 2});
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().copies.size(), 2U);
  EXPECT_FALSE(runs(waits));
  wait_for_reads();
  EXPECT_EQ(files_->stats().read, 0U);
  finish();
  EXPECT_EQ(files_->stats().read, 11U);
  EXPECT_EQ(waits.cached, 44);
}

TEST_F(SchedulerFilesTest, WhatHostMemoryHasIsNotRead) {
  push_out(32);
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
  EXPECT_EQ(scheduler_->stats().prefixes.came_in, 10U);
  EXPECT_EQ(files_->stats().read, 0U);
  // What has come back is in its file, or goes there, under the same tokens as before.
  restart();
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
}

TEST_F(SchedulerFilesTest, WhatIsNotInHostMemoryAnyMoreIsRead) {
  push_out(4);
  EXPECT_EQ(scheduler_->stats().prefixes.on_host, 4);
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
  EXPECT_EQ(outcomes_.back().cached, 40);
  EXPECT_EQ(files_->stats().read, 10U);
}

TEST_F(SchedulerFilesTest, WhoEndsWhileItWaitsLeavesWhatWasReadToOthers) {
  leave_in_files();
  GroupOutcome& waits = submit(ten_pages);
  EXPECT_FALSE(plan());
  end(waits);
  while (scheduler_->wake_at()) {
    EXPECT_FALSE(plan());
    std::this_thread::yield();
  }
  EXPECT_EQ(scheduler_->stats().prefixes.idle, 10);
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
}

TEST_F(SchedulerFilesTest, ALostTickEndsReadingAndSavingAndBothGoOn) {
  leave_in_files();
  submit({.prompt = 4, .max_tokens = 20});
  submit(ten_pages);
  ASSERT_TRUE(plan());
  lose();
  scheduler_->check_invariants();
  finish();
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
}

TEST_F(SchedulerFilesTest, AFileThatIsGoneIsComputed) {
  leave_in_files();
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    std::filesystem::remove(file.path());
  }
  EXPECT_EQ(tokens_fed_by(ten_pages), 41U);
  EXPECT_EQ(scheduler_->stats().files.failures, 1U);
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U);
}

TEST_F(SchedulerFilesTest, WhatIsComputedSoonerThanReadIsComputed) {
  tokens_fed_by(ten_pages);
  wait_until_written(10);
  tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 2});
  start_with_files(small(), folder_.path(), [](const Plan& plan) {
    return Duration(100 + tokens_of(plan));  // a token takes a nanosecond, and no file does
  });
  for (int i = 0; i < 8; ++i) tokens_fed_by({.prompt = 9, .max_tokens = 2});
  EXPECT_EQ(tokens_fed_by(ten_pages), 1U) << "to learn what it takes";
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 2}), 41U);
}

void SchedulerFilesTest::check_any_course() {
  std::minstd_rand random(7);
  const auto one_of = [&random](unsigned count) {
    return static_cast<std::int32_t>(random() % count);
  };
  for (int round = 0; round < 4; ++round) {
    if (round > 0) restart();
    for (int i = 0; i < 60; ++i) {
      Ask ask{.prompt = 5 + 4 * one_of(10), .max_tokens = 1 + one_of(8)};
      ask.text = 1 + static_cast<std::size_t>(one_of(6));
      ask.cls = one_of(2) == 0 ? RequestClass::kChat : RequestClass::kBatch;
      ask.domain = one_of(3) == 0 ? "a" : "";
      GroupOutcome& outcome = submit(ask);
      while (one_of(3) > 0 && plan()) run();
      if (one_of(8) == 0 && outcome.group != nullptr) end(outcome);
      if (one_of(20) == 0 && plan()) lose();
      scheduler_->check_invariants();
      now_ += microseconds(100);
    }
    finish();
  }
  EXPECT_GT(files_->stats().read, 0U);
}

TEST_F(SchedulerFilesTest, AnyCourseGivesWhatEachGetsAlone) { check_any_course(); }

TEST_F(SchedulerFilesTest, AnyCourseThroughHostMemoryGivesWhatEachGetsAlone) {
  places_ = 6;
  restart();
  check_any_course();
  EXPECT_GT(scheduler_->stats().prefixes.went_out, 0U);
}

}  // namespace
}  // namespace weft::test
