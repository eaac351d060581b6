#include "weft/core/background.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

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

}  // namespace
}  // namespace weft
