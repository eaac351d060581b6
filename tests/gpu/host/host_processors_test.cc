#include "weft/gpu/host/host_processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(HostProcessors, ReadsWholeProcessorsFromAQuota) {
  EXPECT_EQ(processors_of_quota("200000 100000"), 2);
  EXPECT_EQ(processors_of_quota("250000 100000"), 2);
  EXPECT_EQ(processors_of_quota("50000 100000"), 1);
  EXPECT_EQ(processors_of_quota("3000 1000"), 3);
}

TEST(HostProcessors, TakesWhatIsNoQuotaForNone) {
  for (const char* line : {"max 100000", "-1 100000", "", " ", "100000", "100000 ", "0 100000",
                           "100000 0", "1 -1", "99999999999999999999 1", "x 1"}) {
    EXPECT_EQ(processors_of_quota(line), 0) << line;
  }
}

TEST(HostProcessors, ListsThoseThatThisThreadMayUse) {
  const std::vector<int> all = host_processors();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_GE(host_parallelism(), 1);
  EXPECT_LE(host_parallelism(), static_cast<int>(all.size()));
  std::vector<int> one;
  std::thread narrowed([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(all.back()), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
    one = host_processors();
    EXPECT_EQ(host_parallelism(), 1);
  });
  narrowed.join();
  EXPECT_EQ(one, std::vector<int>{all.back()});
}

}  // namespace
}  // namespace weft
