#include "weft/actors/replicas/replica_loads.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/schedule/group.h"

namespace weft {
namespace {

GroupSpec asking(std::size_t prompt, std::int32_t max_tokens, std::int32_t sequences = 1) {
  GroupSpec spec;
  spec.prompt.resize(prompt);
  spec.max_tokens = max_tokens;
  spec.sequences = sequences;
  return spec;
}

TEST(ReplicaLoadsTest, ChoosesTheLeastLoadAndOfEqualOnesEachInTurn) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 3);
  std::vector<ReplicaLoads::Share> shares;
  const auto choose = [&](std::size_t prompt) {
    shares.push_back(loads.choose(asking(prompt, 10)));
    return shares.back().replica();
  };
  EXPECT_EQ(choose(90), 0U);
  EXPECT_EQ(choose(40), 1U);
  EXPECT_EQ(choose(20), 2U);  // 100, 50, 30
  EXPECT_EQ(choose(5), 2U);   // 100, 50, 45
  EXPECT_EQ(choose(40), 2U);  // 100, 50, 95
  EXPECT_EQ(choose(40), 1U);  // 100, 100, 95
  EXPECT_EQ(loads.load(0), 100);
  EXPECT_EQ(loads.load(1), 100);
  EXPECT_EQ(loads.load(2), 95);
}

TEST(ReplicaLoadsTest, TakesAShareOffWhenItEndsWhereverItWasMoved) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 2);
  {
    ReplicaLoads::Share first = loads.choose(asking(7, 3));
    ReplicaLoads::Share kept;
    kept = std::move(first);
    const ReplicaLoads::Share other = loads.choose(asking(7, 3));
    EXPECT_NE(kept.replica(), other.replica());
    EXPECT_EQ(loads.load(0), 10);
    EXPECT_EQ(loads.load(1), 10);
    kept = {};
    EXPECT_EQ(loads.load(0) + loads.load(1), 10);
  }
  EXPECT_EQ(loads.load(0), 0);
  EXPECT_EQ(loads.load(1), 0);
}

TEST(ReplicaLoadsTest, SharesOutThoseThatComeAtOnceOneByOne) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 4);
  std::vector<ReplicaLoads::Share> shares;
  std::vector<int> counts(4);
  for (int i = 0; i < 40; ++i) {
    shares.push_back(loads.choose(asking(8, 8)));
    ++counts[shares.back().replica()];
  }
  EXPECT_EQ(counts, std::vector<int>(4, 10));
}

TEST(ReplicaLoadsTest, APromptGoesWhereItsBeginningWasSent) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 3, {}, true);
  EXPECT_EQ(loads.choose(asking(200, 1)).replica(), 0U);
  GroupSpec other = asking(200, 1);
  other.prompt.front() = 7;
  EXPECT_EQ(loads.choose(other).replica(), 1U) << "that begins otherwise";
  const ReplicaLoads::Share longer = loads.choose(asking(300, 1));
  EXPECT_EQ(longer.replica(), 0U) << "and it is the third one's turn";
  EXPECT_EQ(loads.load(0), 300 + 1 - 3 * 64) << "the rest is to be computed";
  EXPECT_EQ(loads.choose(other).replica(), 1U);
}

TEST(ReplicaLoadsTest, APromptGoesElsewhereWhereMoreIsToBeDoneThanIsSaved) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 2, {}, true);
  std::vector<ReplicaLoads::Share> shares;
  GroupSpec busy = asking(100, 30);
  busy.prompt.front() = 7;
  shares.push_back(loads.choose(asking(200, 1)));
  shares.push_back(loads.choose(busy));
  ASSERT_EQ(shares[1].replica(), 1U);
  // 201 and 130; of the prompt 192 tokens are there.
  shares.push_back(loads.choose(asking(200, 1)));
  EXPECT_EQ(shares.back().replica(), 0U);
  shares.clear();
  for (int i = 0; i < 40; ++i) shares.push_back(loads.choose(asking(200, 30)));
  std::vector<int> counts(2);
  for (const auto& share : shares) ++counts[share.replica()];
  EXPECT_GT(counts[0], 5) << "one prompt for all is not all for one replica";
  EXPECT_GT(counts[1], 5);
}

TEST(ReplicaLoadsTest, WhatOthersSentDoesNotCount) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 2, {}, true);
  GroupSpec spec = asking(200, 1);
  const auto choose_as = [&](const char* domain) {
    spec.cache_domain = std::make_shared<const std::string>(domain);
    return loads.choose(spec).replica();
  };
  EXPECT_EQ(choose_as("a"), 0U);
  EXPECT_EQ(choose_as("b"), 1U);
  EXPECT_EQ(choose_as("b"), 1U);
  EXPECT_EQ(choose_as("a"), 0U);
}

TEST(ReplicaLoadsTest, BeginningsCountForThoseWhoFindThem) {
  const RecentPrefixes prefixes(2);
  EXPECT_EQ(prefixes.beginnings_of(asking(64, 1)).size(), 0U) << "the last token is computed";
  EXPECT_EQ(prefixes.beginnings_of(asking(65, 1)).size(), 1U);
  GroupSpec encodes = asking(65, 1);
  encodes.encoder_input = {1};
  EXPECT_TRUE(prefixes.beginnings_of(encodes).empty());
  EXPECT_TRUE(RecentPrefixes(1).beginnings_of(asking(65, 1)).empty());
  EXPECT_TRUE(RecentPrefixes(65).beginnings_of(asking(65, 1)).empty());
}

TEST(ReplicaLoadsTest, AnEncodersInputCountsAsAWholeAlone) {
  RecentPrefixes prefixes(2);
  GroupSpec spec = asking(1, 1);
  spec.encoder_input.assign(130, TokenId{5});
  const auto beginnings = prefixes.beginnings_of(spec);
  EXPECT_EQ(beginnings.size(), 2U);
  prefixes.note(beginnings, 1);
  EXPECT_EQ(prefixes.tokens_sent(prefixes.beginnings_of(spec), 1), 128);
  EXPECT_EQ(prefixes.tokens_sent(prefixes.beginnings_of(spec), 0), 0);
  spec.encoder_input.back() = 6;
  EXPECT_EQ(prefixes.tokens_sent(prefixes.beginnings_of(spec), 1), 0);
}

TEST(ReplicaLoadsTest, OlderBeginningsMakeRoomForLaterOnes) {
  RecentPrefixes prefixes(2);
  GroupSpec spec = asking(65, 1);
  const auto beginnings_of = [&](TokenId first) {
    spec.prompt.front() = first;
    return prefixes.beginnings_of(spec);
  };
  constexpr TokenId kMany = 3 * RecentPrefixes::kPlaces;
  for (TokenId first = 0; first < kMany; ++first) prefixes.note(beginnings_of(first), 1);
  EXPECT_EQ(prefixes.tokens_sent(beginnings_of(kMany - 1), 1), 64);
  EXPECT_EQ(prefixes.tokens_sent(beginnings_of(kMany - 1), 0), 0);
  std::int64_t left = 0;
  for (TokenId first = 0; first < 1000; ++first) {
    left += prefixes.tokens_sent(beginnings_of(first), 1) / 64;
  }
  EXPECT_LT(left, 200) << "of the first thousand";
}

TEST(ReplicaLoadsTest, KnowsNothingOfAnotherEngineWhoseMetricsAreTheSame) {
  MetricsRegistry metrics;
  ReplicaLoads one(metrics, 2);
  ReplicaLoads other(metrics, 2);
  const ReplicaLoads::Share elsewhere = other.choose(asking(100, 1));
  ASSERT_EQ(elsewhere.replica(), 0U);
  EXPECT_EQ(one.load(0), 0);
  EXPECT_EQ(one.choose(asking(1, 1)).replica(), 0U);
}

TEST(ReplicaLoadsTest, ExpectsOfEachOutputNoMoreThanItsLimitAndWhatIsUsual) {
  EXPECT_EQ(expected_tokens(asking(100, 1)), 101);
  EXPECT_EQ(expected_tokens(asking(100, 10, 4)), 140);
  EXPECT_EQ(expected_tokens(asking(100, 100'000)), expected_tokens(asking(100, 1'000)));
  GroupSpec encoded = asking(1, 10);
  encoded.encoder_input.resize(50);
  EXPECT_EQ(expected_tokens(encoded), 61);
}

}  // namespace
}  // namespace weft
