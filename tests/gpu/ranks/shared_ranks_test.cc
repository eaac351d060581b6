#include "weft/gpu/ranks/shared_ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/ranks/rank_threads.h"

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

/// A link for each rank, stage by stage.
struct Links {
  explicit Links(const RanksLayout& layout) : ranks(SharedRanks::make(layout).value()) {
    for (std::size_t stage = 0; stage < layout.widths.size(); ++stage) {
      for (std::int32_t rank = 0; rank < layout.widths[stage]; ++rank) {
        all.push_back(ranks->link(static_cast<std::int32_t>(stage), rank));
      }
    }
  }

  std::shared_ptr<SharedRanks> ranks;
  std::vector<std::unique_ptr<RankLink>> all;
};

TEST(SharedRanks, AddUpInTheOrderOfTheRanksWhateverTheLength) {
  const Links links(layout_of({3}));
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
    RankThreads(3).run([&](std::size_t rank) { links.all[rank]->all_reduce(values[rank]); });
    for (const auto& own : values) EXPECT_EQ(own, wanted);
  }
}

TEST(SharedRanks, GatherColumnsAtTheFirstRank) {
  const Links links(layout_of({2}));
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
    links.all[rank]->gather(part, columns, all);
  });
  std::vector<float> wanted(whole.size());
  std::iota(wanted.begin(), wanted.end(), 0.0F);
  EXPECT_EQ(whole, wanted);
}

TEST(SharedRanks, HandOnTheStreamToEachRankOfTheNextStage) {
  const Links links(layout_of({2, 3}));
  std::vector<std::vector<float>> got(3, std::vector<float>(150'000));
  RankThreads(5).run([&](std::size_t rank) {
    if (rank < 2) {
      for (int step = 0; step < 3; ++step) {
        links.all[rank]->send(
            std::vector<float>(150'000, static_cast<float>(10 * step) + static_cast<float>(rank)));
      }
    } else {
      for (int step = 0; step < 3; ++step) {
        links.all[rank]->receive(got[rank - 2]);
        const float wanted = static_cast<float>(10 * step) + static_cast<float>((rank - 2) % 2);
        EXPECT_EQ(got[rank - 2], std::vector<float>(150'000, wanted));
      }
    }
  });
}

TEST(SharedRanks, TellTheFirstStageWhatWasChosen) {
  const Links links(layout_of({2, 1}));
  const std::vector<SlotToken> first = {{0, 7}, {3, kNoToken}};
  links.all[2]->tell_tokens(first);
  links.all[2]->tell_tokens({});
  for (const std::size_t rank : {0U, 1U}) {
    const auto heard = links.all[rank]->hear_tokens();
    ASSERT_EQ(heard.size(), 2U);
    EXPECT_EQ(heard[0].token, 7);
    EXPECT_EQ(heard[1].slot, 3);
    EXPECT_EQ(heard[1].token, kNoToken);
    EXPECT_TRUE(links.all[rank]->hear_tokens().empty());
  }
}

TEST(SharedRanks, TellTheirFellowsWhereOneOfTheFirstStageChooses) {
  const Links links(layout_of({2}));
  const std::vector<SlotToken> told = {{1, 5}};
  links.all[0]->tell_tokens(told);
  EXPECT_EQ(links.all[1]->hear_tokens()[0].token, 5);
}

TEST(SharedRanks, EndEveryWaitWhenOneIsLost) {
  for (int round = 0; round < 20; ++round) {
    const Links links(layout_of({2, 2}));
    std::atomic<int> lost{0};
    RankThreads(4).run([&](std::size_t rank) {
      if (rank == 1) return links.all[rank]->abandon();
      std::vector<float> values(10);
      try {
        if (rank == 0) links.all[rank]->all_reduce(values);
        if (rank >= 2) links.all[rank]->receive(values);
      } catch (const ActorFailure& failure) {
        if (failure.kind() == ExitKind::kDeviceLost) ++lost;
      }
    });
    EXPECT_EQ(lost, 3);
    EXPECT_THROW(links.all[1]->tell_tokens({}), ActorFailure) << "and every later call";
  }
}

TEST(SharedRanks, MakeASenderWaitThatIsTwoStepsAhead) {
  const Links links(layout_of({1, 1}));
  std::vector<float> step(32, 1.0F);
  std::atomic<int> sent{0};
  std::jthread sender([&] {
    for (int i = 0; i < 3; ++i) {
      links.all[0]->send(step);
      ++sent;
    }
  });
  std::vector<float> got(step.size());
  for (int i = 0; i < 3; ++i) links.all[1]->receive(got);
  sender.join();
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(got, step);
}

}  // namespace
}  // namespace weft
