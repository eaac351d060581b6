#include "weft/gpu/host/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
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

TEST_P(ThreadTeamTest, DoesEveryPieceOfARunOnce) {
  EXPECT_EQ(team_.size(), GetParam());
  for (int round = 0; round < 200; ++round) {
    std::vector<int> calls(members_);
    team_.run([&](Share share) {
      EXPECT_EQ(share.count, GetParam());
      EXPECT_LT(share.thread, GetParam());
      ++calls[static_cast<std::size_t>(share.index)];
    });
    EXPECT_EQ(calls, std::vector<int>(members_, 1));
  }
}

TEST_P(ThreadTeamTest, HasAMemberForEachPieceThatWaitsForTheOthers) {
  for (int round = 0; round < 20; ++round) {
    std::latch all(GetParam());
    std::vector<std::thread::id> threads(members_);
    team_.run([&](Share share) {
      threads[static_cast<std::size_t>(share.thread)] = std::this_thread::get_id();
      all.arrive_and_wait();
    });
    EXPECT_EQ(threads.front(), std::this_thread::get_id()) << "the caller is member 0";
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), members_);
  }
}

/// Plain memory, so that ThreadSanitizer sees a missing order and other builds a wrong sum.
TEST_P(ThreadTeamTest, ShowsEachOpWhatThePiecesBeforeItWrote) {
  constexpr std::size_t kOps = 2000;
  constexpr std::int32_t kPieces[] = {1, 5, 3, 1, 1, 8};
  std::vector<std::int32_t> pieces(kOps);
  for (std::size_t op = 0; op < kOps; ++op) pieces[op] = kPieces[op % std::size(kPieces)];
  std::vector<std::int64_t> numbers(8, 1);
  std::vector<std::int64_t> next(8);
  std::vector<std::int64_t> expected(8, 1);
  const auto number = [](const std::vector<std::int64_t>& from, std::int32_t op, int index) {
    return std::accumulate(from.begin(), from.end(), std::int64_t{op}) % 1009 + index;
  };
  team_.run(
      pieces,
      [&](std::int32_t op, Share share) {
        const auto& from = op % 2 == 0 ? numbers : next;
        auto& to = op % 2 == 0 ? next : numbers;
        for (auto [i, end] = share.of(8); i < end; ++i) {
          to[static_cast<std::size_t>(i)] = number(from, op, static_cast<int>(i));
        }
      },
      GetParam());
  for (std::size_t op = 0; op < kOps; ++op) {
    const std::vector<std::int64_t> from = expected;
    for (int i = 0; i < 8; ++i) {
      expected[static_cast<std::size_t>(i)] = number(from, static_cast<std::int32_t>(op), i);
    }
  }
  EXPECT_EQ(numbers, expected);
}

TEST_P(ThreadTeamTest, GivesCallsAtOnceDifferentThreadsOfTheTeam) {
  std::vector<std::atomic<int>> inside(members_);
  const std::vector<std::int32_t> pieces(50, GetParam() * 4);
  team_.run(
      pieces,
      [&](std::int32_t /*op*/, Share share) {
        auto& own = inside[static_cast<std::size_t>(share.thread)];
        EXPECT_EQ(own.fetch_add(1), 0);
        own.fetch_sub(1);
      },
      GetParam());
}

TEST_P(ThreadTeamTest, RunsWithFewerMembersThanItHas) {
  const std::int32_t pieces[] = {4, 1, 8};
  for (int members = 1; members <= GetParam(); ++members) {
    std::mutex mutex;
    int calls = 0;
    team_.run(
        pieces,
        [&](std::int32_t, Share share) {
          const std::scoped_lock lock(mutex);
          ++calls;
          if (members == 1) {
            EXPECT_EQ(share.thread, 0) << "one member is the caller";
          }
        },
        members);
    EXPECT_EQ(calls, 13);
  }
}

TEST_P(ThreadTeamTest, SleepsBetweenRunsAndWakes) {
  for (int round = 0; round < 5; ++round) {
    while (team_.sleepers() != GetParam() - 1) std::this_thread::yield();
    std::vector<int> calls(members_);
    team_.run([&](Share share) { ++calls[static_cast<std::size_t>(share.index)]; });
    EXPECT_EQ(calls, std::vector<int>(members_, 1));
  }
}

TEST_P(ThreadTeamTest, ThrowsWhatAPieceThrewBeginsNoFurtherOpAndGoesOn) {
  const std::vector<std::int32_t> pieces(4, GetParam());
  for (int thrower = 0; thrower < GetParam(); ++thrower) {
    for (int op = 0; op < 4; ++op) {
      std::atomic<int> last{0};
      try {
        team_.run(
            pieces,
            [&](std::int32_t at, Share share) {
              last.store(at);
              if (share.index == thrower && at == op) {
                throw std::runtime_error("op " + std::to_string(at));
              }
            },
            GetParam());
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "op " + std::to_string(op));
      }
      EXPECT_EQ(last, op);
      std::vector<int> calls(members_);
      team_.run([&](Share share) { ++calls[static_cast<std::size_t>(share.index)]; });
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

TEST_P(ThreadTeamTest, TellsOfAPiecesError) {
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
  std::latch everyone(team.size());
  team.run([&](Share share) {
    allowed[static_cast<std::size_t>(share.thread)] = host_processors();
    everyone.arrive_and_wait();
  });
  EXPECT_EQ(allowed.front(), all);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(allowed[i], std::vector<int>{all[i]});
}

}  // namespace
}  // namespace weft
