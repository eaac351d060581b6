// The exchanges between ranks, through memory and over connections, with the same results.

#include "weft/gpu/ranks/shared_ranks.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/ranks/rank_threads.h"
#include "weft/gpu/ranks/world/network_link.h"

namespace weft {
namespace {

RanksLayout layout_of(std::vector<std::int32_t> widths) {
  RanksLayout layout;
  layout.widths = std::move(widths);
  layout.hidden = 8;
  layout.step_tokens = 4;
  layout.columns = 100;
  layout.rows = 4;
  layout.shares_processors = true;
  return layout;
}

using Links = std::vector<std::unique_ptr<RankLink>>;

Links links_through_memory(const RanksLayout& layout) {
  Links all;
  const auto ranks = SharedRanks::make(layout).value();
  for (std::size_t stage = 0; stage < layout.widths.size(); ++stage) {
    for (std::int32_t rank = 0; rank < layout.widths[stage]; ++rank) {
      all.push_back(ranks->link(static_cast<std::int32_t>(stage), rank));
    }
  }
  return all;
}

/// A connection between each pair of ranks; for each rank, its connections to all others.
std::vector<std::vector<std::unique_ptr<RankSocket>>> connected(std::size_t ranks) {
  std::vector<std::vector<std::unique_ptr<RankSocket>>> all(ranks);
  for (auto& peers : all) peers.resize(ranks);
  for (std::size_t one = 0; one < ranks; ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
      all[one][other] = std::make_unique<RankSocket>(ends[0]);
      all[other][one] = std::make_unique<RankSocket>(ends[1]);
    }
  }
  return all;
}

Links links_over_network(const RanksLayout& layout) {
  auto peers = connected(static_cast<std::size_t>(
      std::accumulate(layout.widths.begin(), layout.widths.end(), std::int32_t{0})));
  Links all;
  for (std::size_t stage = 0; stage < layout.widths.size(); ++stage) {
    for (std::int32_t rank = 0; rank < layout.widths[stage]; ++rank) {
      auto& own = peers[all.size()];
      all.push_back(std::make_unique<NetworkLink>(layout, static_cast<std::int32_t>(stage), rank,
                                                  std::move(own)));
    }
  }
  return all;
}

class RankLinks : public testing::TestWithParam<Links (*)(const RanksLayout&)> {
 protected:
  /// A link for each rank, stage by stage.
  [[nodiscard]] static Links links_of(const RanksLayout& layout) { return GetParam()(layout); }
};

INSTANTIATE_TEST_SUITE_P(, RankLinks, testing::Values(links_through_memory, links_over_network),
                         [](const auto& one) { return one.index == 0 ? "memory" : "network"; });

TEST_P(RankLinks, AddUpInTheOrderOfTheRanksWhateverTheLength) {
  const Links links = links_of(layout_of({3}));
  // More than a slot holds, and several times, so that slots are used again.
  for (const std::size_t length : {1U, 1000U, 200'000U, 7U}) {
    std::vector<std::vector<float>> values;
    std::vector<float> wanted(length);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      auto& own = values.emplace_back(length);
      for (std::size_t i = 0; i < length; ++i) {
        own[i] = 0.1F * static_cast<float>((i + 1) * (rank + 1));
        wanted[i] = rank == 0 ? own[i] : wanted[i] + own[i];
      }
    }
    RankThreads(3).run([&](std::size_t rank) { links[rank]->all_reduce(values[rank]); });
    for (const auto& own : values) EXPECT_EQ(own, wanted);
  }
}

TEST_P(RankLinks, GatherColumnsAtTheFirstRank) {
  const Links links = links_of(layout_of({2}));
  const std::vector<Extent> columns = {{0, 100}, {100, 60}};
  constexpr std::int64_t kRows = 2000;  // more than a slot holds
  std::vector<std::vector<float>> parts;
  for (const Extent& own : columns) {
    auto& part = parts.emplace_back(static_cast<std::size_t>(kRows * own.count));
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < own.count; ++j) {
        part[static_cast<std::size_t>(i * own.count + j)] =
            static_cast<float>(i * 160 + own.first + j);
      }
    }
  }
  std::vector<float> whole(kRows * 160);
  RankThreads(2).run([&](std::size_t rank) {
    const Rows part{parts[rank].data(), kRows, columns[rank].count, columns[rank].count};
    const Rows all = rank == 0 ? Rows{whole.data(), kRows, 160, 160} : Rows{};
    links[rank]->gather(part, columns, all);
  });
  std::vector<float> wanted(whole.size());
  std::iota(wanted.begin(), wanted.end(), 0.0F);
  EXPECT_EQ(whole, wanted);
}

TEST_P(RankLinks, HandOnTheStreamToEachRankOfTheNextStage) {
  const Links links = links_of(layout_of({2, 3}));
  std::vector<std::vector<float>> got(3, std::vector<float>(150'000));
  RankThreads(5).run([&](std::size_t rank) {
    if (rank < 2) {
      for (int step = 0; step < 3; ++step) {
        links[rank]->send(
            std::vector<float>(150'000, static_cast<float>(10 * step) + static_cast<float>(rank)));
      }
    } else {
      for (int step = 0; step < 3; ++step) {
        links[rank]->receive(got[rank - 2]);
        const float wanted = static_cast<float>(10 * step) + static_cast<float>((rank - 2) % 2);
        EXPECT_EQ(got[rank - 2], std::vector<float>(150'000, wanted));
      }
    }
  });
}

TEST_P(RankLinks, TellTheFirstStageWhatWasChosen) {
  const Links links = links_of(layout_of({2, 1}));
  const std::vector<SlotToken> first = {{0, 7}, {3, kNoToken}};
  links[2]->tell_tokens(first);
  links[2]->tell_tokens({});
  for (const std::size_t rank : {0U, 1U}) {
    const auto heard = links[rank]->hear_tokens();
    ASSERT_EQ(heard.size(), 2U);
    EXPECT_EQ(heard[0].token, 7);
    EXPECT_EQ(heard[1].slot, 3);
    EXPECT_EQ(heard[1].token, kNoToken);
    EXPECT_TRUE(links[rank]->hear_tokens().empty());
  }
}

TEST_P(RankLinks, TellTheirFellowsWhereOneOfTheFirstStageChooses) {
  const Links links = links_of(layout_of({2}));
  const std::vector<SlotToken> told = {{1, 5}};
  links[0]->tell_tokens(told);
  EXPECT_EQ(links[1]->hear_tokens()[0].token, 5);
}

TEST_P(RankLinks, EndEveryWaitWhenOneIsLost) {
  for (int round = 0; round < 20; ++round) {
    const Links links = links_of(layout_of({2, 2}));
    std::atomic<int> lost{0};
    RankThreads(4).run([&](std::size_t rank) {
      if (rank == 1) return links[rank]->abandon();
      std::vector<float> values(10);
      try {
        if (rank == 0) links[rank]->all_reduce(values);
        if (rank >= 2) links[rank]->receive(values);
      } catch (const ActorFailure& failure) {
        if (failure.kind() == ExitKind::kDeviceLost) ++lost;
      }
    });
    EXPECT_EQ(lost, 3);
    EXPECT_THROW(links[1]->tell_tokens({}), ActorFailure) << "and every later call";
  }
}

TEST_P(RankLinks, MakeASenderWaitThatIsTwoStepsAhead) {
  const Links links = links_of(layout_of({1, 1}));
  std::vector<float> step(32, 1.0F);
  std::atomic<int> sent{0};
  std::jthread sender([&] {
    for (int i = 0; i < 3; ++i) {
      links[0]->send(step);
      ++sent;
    }
  });
  std::vector<float> got(step.size());
  for (int i = 0; i < 3; ++i) links[1]->receive(got);
  sender.join();
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(got, step);
}

TEST(NetworkLink, ReadsNothingAnyMoreOfOneThatIsFarAhead) {
  auto peers = connected(3);
  const auto ahead = std::move(peers[1][0]);
  const auto late = std::move(peers[2][0]);
  NetworkLink link(layout_of({3}), 0, 0, std::move(peers[0]));
  std::vector<float> values(std::size_t{64} * 1024, 1.0F);
  auto sum = std::async(std::launch::async, [&] { link.all_reduce(values); });
  // One sends and sends while the other is waited for.
  std::vector<std::byte> wire;
  ASSERT_TRUE(ahead->seal(RankMessage::kNumbers, std::as_bytes(std::span(values)), wire));
  constexpr std::size_t kMost = std::size_t{20} << 20U;  // what is kept, and the system's buffers
  constexpr int kStalled = 300;                          // milliseconds
  std::size_t sent = 0;
  for (pollfd room{ahead->descriptor(), POLLOUT, 0}; ::poll(&room, 1, kStalled) > 0;) {
    sent += ahead->write_some(std::span(wire).subspan(sent % wire.size())).value();
    ASSERT_LT(sent, kMost);
  }
  EXPECT_GT(sent, std::size_t{16} << 20U);
  ASSERT_TRUE(late->send(RankMessage::kNumbers, std::as_bytes(std::span(values))));
  EXPECT_TRUE(ahead->receive(10'000));
  EXPECT_TRUE(late->receive(10'000));
  sum.get();
  EXPECT_EQ(values.back(), 3.0F);
}

TEST(NetworkLink, CountsAPeerThatSendsNoMessageAsLost) {
  auto peers = connected(2);
  const auto stranger = std::move(peers[1][0]);
  NetworkLink link(layout_of({2}), 0, 0, std::move(peers[0]));
  ASSERT_TRUE(stranger->send(RankMessage::kPlan, std::vector<std::byte>(4)));
  std::vector<float> values(10);
  EXPECT_THROW(link.all_reduce(values), ActorFailure);
}

TEST(NetworkLink, CountsAPeerThatRunsAnotherStepAsLost) {
  auto peers = connected(2);
  const auto stranger = std::move(peers[1][0]);
  NetworkLink link(layout_of({2}), 0, 0, std::move(peers[0]));
  ASSERT_TRUE(stranger->send(RankMessage::kNumbers, std::vector<std::byte>(4)));
  std::vector<float> values(10);
  EXPECT_THROW(link.all_reduce(values), ActorFailure);
}

TEST(NetworkLink, TakesNoMessageThatIsLongerThanAnyOfItsOwn) {
  auto peers = connected(2);
  const auto stranger = std::move(peers[1][0]);
  NetworkLink link(layout_of({2}), 0, 0, std::move(peers[0]));
  std::vector<std::byte> wire;
  ASSERT_TRUE(stranger->seal(RankMessage::kNumbers, std::vector<std::byte>(1U << 20U), wire));
  ASSERT_TRUE(stranger->write_some(std::span(wire).first(16)));  // what says how long it is
  std::vector<float> values(10);
  EXPECT_THROW(link.all_reduce(values), ActorFailure);
}

}  // namespace
}  // namespace weft
