#include "weft/schedule/recent_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "weft/sampling/drafters/draft_text.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kKnownTokens = 100'000;

PrefixScope scope_of(const std::string& domain) {
  return {.domain = std::make_shared<const std::string>(domain)};
}

/// An output of so many tokens, from `first` on.
std::vector<TokenId> output(TokenId first, std::size_t tokens = 10) {
  std::vector<TokenId> all(tokens);
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// The first tokens of a scope's outputs.
std::vector<TokenId> firsts(RecentOutputs& recent, const PrefixScope& scope) {
  std::vector<TokenId> all;
  const auto texts = recent.of(scope);
  if (!texts) return all;
  for (const auto& text : *texts) all.push_back(text->tokens().front());
  return all;
}

TEST(RecentOutputsTest, AScopeFindsItsOwnOutputsTheNewestFirst) {
  RecentOutputs recent(1'000, kKnownTokens);
  recent.add(scope_of("a"), output(100));
  recent.add(scope_of("b"), output(200));
  recent.add(scope_of("a"), output(300));
  EXPECT_THAT(firsts(recent, scope_of("a")), ElementsAre(300, 100));
  EXPECT_THAT(firsts(recent, scope_of("b")), ElementsAre(200));
  EXPECT_THAT(firsts(recent, {}), IsEmpty()) << "no domain is one of its own";
  recent.add({}, output(400));
  EXPECT_THAT(firsts(recent, {}), ElementsAre(400));
  PrefixScope other = scope_of("a");
  other.traits.angles = AngleSet::kLong;
  EXPECT_THAT(firsts(recent, other), IsEmpty()) << "as the prefix cache keeps them apart";
}

TEST(RecentOutputsTest, KeepsTheNewestOutputsOfAScope) {
  RecentOutputs recent(1'000'000, kKnownTokens);
  for (TokenId first = 1; first <= 10; ++first) recent.add(scope_of("a"), output(first));
  EXPECT_THAT(firsts(recent, scope_of("a")), ElementsAre(10, 9, 8, 7, 6, 5, 4, 3));
  EXPECT_EQ(recent.tokens(), 80);
}

TEST(RecentOutputsTest, GivesUpTheScopeThatWasUsedLongestAgo) {
  RecentOutputs recent(25, kKnownTokens);
  recent.add(scope_of("a"), output(100));
  recent.add(scope_of("b"), output(200));
  EXPECT_THAT(firsts(recent, scope_of("a")), ElementsAre(100));
  recent.add(scope_of("c"), output(300));
  EXPECT_THAT(firsts(recent, scope_of("b")), IsEmpty());
  EXPECT_THAT(firsts(recent, scope_of("a")), ElementsAre(100));
  EXPECT_EQ(recent.tokens(), 20);
  recent.add(scope_of("d"), output(400, 26));
  EXPECT_EQ(recent.tokens(), 0) << "one that is larger than all may have is not kept";
}

TEST(RecentOutputsTest, KeepsABoundedNumberOfScopes) {
  RecentOutputs recent(1'000'000, kKnownTokens);
  for (std::size_t i = 0; i <= RecentOutputs::kMostScopes; ++i) {
    recent.add(scope_of(std::to_string(i)), output(7));
  }
  EXPECT_THAT(firsts(recent, scope_of("0")), IsEmpty());
  EXPECT_THAT(firsts(recent, scope_of("1")), ElementsAre(7));
}

TEST(RecentOutputsTest, KeepsTheBeginningOfALongOutputAndNoShortOne) {
  RecentOutputs recent(100'000, kKnownTokens);
  recent.add(scope_of("a"), output(1, RecentOutputs::kLeastTokens - 1));
  EXPECT_EQ(recent.of(scope_of("a")), nullptr);
  recent.add(scope_of("a"), output(1, RecentOutputs::kMostTokens + 1));
  EXPECT_EQ(recent.tokens(), static_cast<std::int64_t>(RecentOutputs::kMostTokens));
  EXPECT_EQ(recent.of(scope_of("a"))->front()->tokens().front(), 1);
}

TEST(RecentOutputsTest, KeepsNothingWithoutRoom) {
  RecentOutputs recent(0, kKnownTokens);
  recent.add(scope_of("a"), output(1));
  EXPECT_EQ(recent.of(scope_of("a")), nullptr);
}

TEST(RecentOutputsTest, WhatARequestHasStaysAsItWas) {
  RecentOutputs recent(1'000, kKnownTokens);
  recent.add(scope_of("a"), output(100));
  const auto before = recent.of(scope_of("a"));
  recent.add(scope_of("a"), output(200));
  ASSERT_EQ(before->size(), 1U);
  EXPECT_EQ(before->front()->tokens().front(), 100);
}

}  // namespace
}  // namespace weft
