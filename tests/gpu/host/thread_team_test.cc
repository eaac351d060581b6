#include "weft/gpu/host/thread_team.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/gpu/host/host_processors.h"

namespace weft {
namespace {

std::vector<int> sizes() { return {1, 2, 3, 8}; }  // more than this machine has, too

class ThreadTeamTest : public testing::TestWithParam<int> {
 protected:
  ThreadTeam team_{{.threads = GetParam()}};
  std::size_t members_ = static_cast<std::size_t>(GetParam());
};

TEST_P(ThreadTeamTest, GivesEveryMemberItsShareOnce) {
  EXPECT_EQ(team_.size(), GetParam());
  for (int round = 0; round < 200; ++round) {
    std::vector<int> calls(members_);
    std::vector<std::thread::id> threads(members_);
    team_.run([&](Share share) {
      EXPECT_EQ(share.count, GetParam());
      const auto index = static_cast<std::size_t>(share.index);
      ++calls[index];
      threads[index] = std::this_thread::get_id();
    });
    EXPECT_EQ(calls, std::vector<int>(members_, 1));
    EXPECT_EQ(threads.front(), std::this_thread::get_id());
  }
}

/// Plain memory, so that ThreadSanitizer sees a missing barrier and other builds a wrong sum.
TEST_P(ThreadTeamTest, ShowsEachMemberWhatTheOthersWroteBeforeTheSync) {
  constexpr int kOps = 1000;
  std::vector<std::int64_t> numbers(members_, 1);
  std::vector<std::int64_t> sums(members_);
  team_.run([&](Share share) {
    const auto own = static_cast<std::size_t>(share.index);
    for (int op = 0; op < kOps; ++op) {
      sums[own] = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
      team_.sync();
      numbers[own] = sums[(own + 1) % members_] % 1009 + share.index;
      team_.sync();
    }
  });
  std::vector<std::int64_t> expected(members_, 1);
  for (int op = 0; op < kOps; ++op) {
    const std::int64_t sum = std::accumulate(expected.begin(), expected.end(), std::int64_t{0});
    for (std::size_t i = 0; i < members_; ++i) {
      expected[i] = sum % 1009 + static_cast<std::int64_t>(i);
    }
  }
  EXPECT_EQ(numbers, expected);
}

TEST_P(ThreadTeamTest, SleepsBetweenRunsAndWakes) {
  for (int round = 0; round < 5; ++round) {
    while (team_.sleepers() != GetParam() - 1) std::this_thread::yield();
    std::vector<int> calls(members_);
    team_.run([&](Share share) { ++calls[static_cast<std::size_t>(share.index)]; });
    EXPECT_EQ(calls, std::vector<int>(members_, 1));
  }
}

TEST_P(ThreadTeamTest, ThrowsWhatAMemberThrewAndGoesOn) {
  for (int thrower = 0; thrower < GetParam(); ++thrower) {
    for (int op = 0; op < 4; ++op) {
      std::vector<int> left(members_);
      try {
        team_.run([&](Share share) {
          for (int i = 0; i < 4; ++i) {
            if (share.index == thrower && i == op)
              throw std::runtime_error("op " + std::to_string(i));
            team_.sync();
          }
          ++left[static_cast<std::size_t>(share.index)];
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "op " + std::to_string(op));
      }
      EXPECT_EQ(left, std::vector<int>(members_))
          << "a member passed a sync that one never reached";
      std::vector<int> calls(members_);
      team_.run([&](Share share) {
        team_.sync();
        ++calls[static_cast<std::size_t>(share.index)];
        team_.sync();
      });
      EXPECT_EQ(calls, std::vector<int>(members_, 1));
    }
  }
}

TEST_P(ThreadTeamTest, ThrowsOneOfSeveralFailures) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(
        team_.run([](Share share) { throw std::out_of_range(std::to_string(share.index)); }),
        std::out_of_range);
  }
  int calls = 0;
  team_.run([&](Share share) {
    if (share.index == 0) ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST_P(ThreadTeamTest, PassesThoseWhoHaveNothingMoreToSync) {
  // A member that throws after its last sync spoils nobody's work, but the run.
  std::vector<int> calls(members_);
  EXPECT_THROW(team_.run([&](Share share) {
    team_.sync();
    ++calls[static_cast<std::size_t>(share.index)];
    if (share.index == GetParam() - 1) throw std::runtime_error("late");
  }),
               std::runtime_error);
  EXPECT_EQ(calls.back(), 1);
}

TEST_P(ThreadTeamTest, TellsOfAMembersError) {
  const auto last = GetParam() - 1;
  EXPECT_TRUE(team_.try_run([](Share) { return Result<void>(); }));
  const auto failed = team_.try_run([&](Share share) -> Result<void> {
    if (share.index == last) return Error{CoreErrc::kStopped, "member " + std::to_string(last)};
    return {};
  });
  ASSERT_TRUE(failed.has_error());
  EXPECT_EQ(failed.error().detail, "member " + std::to_string(last));
  EXPECT_TRUE(team_.try_run([](Share) { return Result<void>(); })) << "and can go on";
}

TEST_P(ThreadTeamTest, EndsRightAfterItsStart) {
  for (int round = 0; round < 50; ++round) const ThreadTeam short_lived({.threads = GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Of, ThreadTeamTest, testing::ValuesIn(sizes()),
                         testing::PrintToStringParamName());

TEST(ThreadTeam, HasAMemberForEachProcessorUnlessToldOtherwise) {
  const ThreadTeam team({});
  EXPECT_EQ(team.size(), host_parallelism());
}

TEST(ThreadTeam, PinsItsOwnThreadsAndLeavesTheCallersAlone) {
  const std::vector<int> all = host_processors();
  ThreadTeam team({.threads = static_cast<int>(all.size()), .pin = true});
  std::vector<std::vector<int>> allowed(all.size());
  team.run(
      [&](Share share) { allowed[static_cast<std::size_t>(share.index)] = host_processors(); });
  EXPECT_EQ(allowed.front(), all);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(allowed[i], std::vector<int>{all[i]});
}

}  // namespace
}  // namespace weft
