#include "weft/core/background.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
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
