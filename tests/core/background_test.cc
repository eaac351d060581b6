#include "weft/core/background.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "weft/core/thread.h"

namespace weft {
namespace {

int niceness() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }

TEST(RunInBackgroundTest, LowersThePriorityOfItsOwnThreadAndOfThoseThatItStarts) {
  const int before = niceness();
  int of_started = 0;
  const int of_work = run_in_background([&] {
    std::jthread([&] { of_started = niceness(); }).join();
    return niceness();
  });
  EXPECT_GT(of_work, before);
  EXPECT_EQ(of_started, of_work);
  EXPECT_EQ(niceness(), before);
}

TEST(RunInBackgroundTest, ThrowsWhatTheWorkThrows) {
  EXPECT_THROW(run_in_background([] { throw std::runtime_error("full"); }), std::runtime_error);
}

using std::chrono::microseconds;

TEST(BackgroundPaceTest, PausesNineTimesAsLongAsItHasComputedOnceItWasDisplaced) {
  BackgroundPace pace({microseconds(500), 3});
  EXPECT_EQ(pace.pause({microseconds(1500), 4}), microseconds(9000));
  EXPECT_EQ(pace.pause({microseconds(1700), 9}), microseconds(1800)) << "only of the last piece";
}

TEST(BackgroundPaceTest, DoesNotPauseWhereProcessorsAreFree) {
  BackgroundPace pace({microseconds(500), 3});
  EXPECT_EQ(pace.pause({microseconds(1500), 3}).count(), 0);
  EXPECT_EQ(pace.pause({microseconds(2500), 3}).count(), 0);
  EXPECT_EQ(pace.pause({microseconds(2600), 4}), microseconds(900)) << "no more than that piece";
  EXPECT_EQ(pace.pause({microseconds(3600), 4}).count(), 0) << "it was displaced before";
}

TEST(BackgroundPaceTest, TakesTenTimesAsLongAsAloneAndNoMore) {
  ThreadUse use;
  BackgroundPace pace(use);
  std::mt19937 random(5);
  std::chrono::nanoseconds clock{0};
  for (int piece = 0; piece < 1000; ++piece) {
    const std::chrono::nanoseconds computing(random() % 5'000'000);
    use.computed += computing;
    use.displaced += 1 + random() % 3;
    clock += computing + pace.pause(use);
    ASSERT_EQ(clock, 10 * use.computed) << "after piece " << piece;
  }
}

// A pause of years, which is over because of the stop alone.
TEST(BackgroundPaceTest, AStopEndsThePause) {
  BackgroundPace pace({-std::chrono::hours(10'000), -1});
  std::stop_source stop;
  std::thread pauses([&] { let_others_run(pace, stop.get_token()); });
  stop.request_stop();
  pauses.join();
}

TEST(BackgroundPaceTest, AThreadPausesForAsLongAsItsPaceSays) {
  const ThreadUse use = use_of_this_thread();
  BackgroundPace pace({use.computed - microseconds(500), use.displaced - 1});
  const auto began = std::chrono::steady_clock::now();
  let_others_run(pace);
  EXPECT_GE(std::chrono::steady_clock::now() - began, microseconds(4500));
}

TEST(BackgroundPaceTest, AThreadKnowsWhatItHasComputedAndWhoWantedItsProcessor) {
  const int here = ::sched_getcpu();
  std::atomic<int> displaced{0};
  // On one processor, which both want until each has lost it to the other.
  const auto compute = [&] {
    ASSERT_FALSE(pin_this_thread(here));
    const ThreadUse before = use_of_this_thread();
    while (use_of_this_thread().displaced == before.displaced) {
    }
    displaced.fetch_add(1);
    while (displaced < 2) {
    }
    EXPECT_GT(use_of_this_thread().computed, before.computed);
  };
  const std::jthread one(compute);
  const std::jthread other(compute);
}

}  // namespace
}  // namespace weft
