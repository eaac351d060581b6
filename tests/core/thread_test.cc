#include "weft/core/thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

namespace weft {
namespace {

/// The calling thread's slice in nanoseconds, as sched_getattr(2) has it; 0 where the system says
/// nothing of it.
std::uint64_t slice() {
  struct Attributes {
    std::array<std::uint32_t, 6> head{};
    std::uint64_t runtime = 0;
    std::array<std::uint64_t, 2> rest{};
  } attributes;
  const auto failed = ::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0);
  return failed != 0 ? 0 : attributes.runtime;
}

int own_niceness() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }

TEST(ThreadTest, AskingForShortSlicesKeepsTheThreadsPriorityAndIsInherited) {
  std::thread([] {
    if (slice() == 0) GTEST_SKIP() << "this system's slices are its own affair";
    const int nice = own_niceness() + 1;
    ASSERT_EQ(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice), 0);
    ask_for_short_slices();
    EXPECT_EQ(slice(), 100'000U);
    EXPECT_EQ(own_niceness(), nice);
    std::thread([] { EXPECT_EQ(slice(), 100'000U); }).join();
  }).join();
  if (slice() != 0) {
    EXPECT_GT(slice(), 100'000U) << "other threads are as they were";
  }
}

}  // namespace
}  // namespace weft
