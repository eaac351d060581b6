#include "weft/schedule/memory/encoder_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace weft::test {
namespace {

using testing::IsEmpty;
using Taken = EncoderOutputs::Taken;

std::vector<TokenId> input_of(std::size_t tokens, TokenId first = 0) {
  std::vector<TokenId> input(tokens);
  std::iota(input.begin(), input.end(), first);
  return input;
}

struct Clock {
  PlanClock clock;
};

/// Eight pages of four tokens, of which plans are made one after the other.
struct Outputs : Clock, EncoderOutputs {
  explicit Outputs(bool keeps = true) : EncoderOutputs(clock, 8, 4, keeps) {}

  [[nodiscard]] EncoderKey key(const PrefixScope& scope, const std::vector<TokenId>& input) const {
    return {scope, input, hash(scope, input)};
  }
  [[nodiscard]] bool contains(const PrefixScope& scope, const std::vector<TokenId>& input) const {
    return EncoderOutputs::contains(key(scope, input));
  }
  [[nodiscard]] bool is_in_use(const PrefixScope& scope, const std::vector<TokenId>& input) const {
    return EncoderOutputs::is_in_use(key(scope, input));
  }
  [[nodiscard]] Taken take(const PrefixScope& scope, const std::vector<TokenId>& input,
                           std::vector<PageId>& out) {
    return EncoderOutputs::take(key(scope, input), out);
  }
  void note_computed(std::span<const PageId> pages, const PrefixScope& scope,
                     const std::vector<TokenId>& input) {
    EncoderOutputs::note_computed(pages, key(scope, input));
  }

  /// A plan computes an output, and its results come.
  std::vector<PageId> compute(const std::vector<TokenId>& input, const PrefixScope& scope = {}) {
    std::vector<PageId> pages;
    EXPECT_EQ(take(scope, input, pages), Taken::kNew);
    clock.begin_plan();
    note_computed(pages, scope, input);
    clock.write();
    clock.run(clock.newest());
    return pages;
  }
};

TEST(EncoderOutputs, AnEqualInputFindsThePagesOfOneThatRunsOrRan) {
  Outputs outputs;
  const auto input = input_of(9);
  const std::vector<PageId> first = outputs.compute(input);
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(outputs.free(), 5);
  EXPECT_TRUE(outputs.is_in_use({}, input));
  std::vector<PageId> second;
  EXPECT_EQ(outputs.take({}, input, second), Taken::kFound);
  EXPECT_EQ(second, first);
  EXPECT_EQ(outputs.free(), 5);
  outputs.check(2);
  outputs.release(first);
  outputs.release(second);
  EXPECT_EQ(outputs.free(), 8) << "what is kept counts as free";
  EXPECT_FALSE(outputs.is_in_use({}, input));
  std::vector<PageId> third;
  EXPECT_EQ(outputs.take({}, input, third), Taken::kFound);
  EXPECT_EQ(outputs.free(), 5);
  outputs.check(1);
  EXPECT_EQ(outputs.stats().hits, 2U);
  EXPECT_EQ(outputs.stats().found, 18U);
  EXPECT_EQ(outputs.stats().encoder_pages, 3);
}

TEST(EncoderOutputs, OnlyTheWholeInputInTheSameScopeIsFound) {
  Outputs outputs;
  const auto input = input_of(8);
  outputs.compute(input);
  EXPECT_TRUE(outputs.contains({}, input));
  EXPECT_FALSE(outputs.contains({}, input_of(7)));
  EXPECT_FALSE(outputs.contains({}, input_of(9)));
  EXPECT_FALSE(outputs.contains({}, input_of(8, 1)));
  EXPECT_FALSE(outputs.contains({std::make_shared<const std::string>("another")}, input));
  EXPECT_FALSE(outputs.contains({nullptr, {AngleSet::kLong}}, input));
  auto last_differs = input;
  last_differs.back() = 99;
  EXPECT_FALSE(outputs.contains({}, last_differs));
}

TEST(EncoderOutputs, AnOutputIsFoundOnceItsPlanPrecedes) {
  Outputs outputs;
  const auto input = input_of(4);
  std::vector<PageId> pages;
  ASSERT_EQ(outputs.take({}, input, pages), Taken::kNew);
  outputs.clock.begin_plan();
  outputs.note_computed(pages, {}, input);
  EXPECT_FALSE(outputs.contains({}, input));
  outputs.clock.write();
  outputs.clock.begin_plan();
  EXPECT_TRUE(outputs.contains({}, input));
  EXPECT_FALSE(outputs.is_sure(pages)) << "if there is no second plan, the first may change";
  outputs.clock.begin_amending(1);
  EXPECT_FALSE(outputs.contains({}, input));
  outputs.clock.begin_plan();
  outputs.clock.write();
  EXPECT_TRUE(outputs.is_sure(pages));
}

TEST(EncoderOutputs, WhatTheNewestPlanComputesIsGivenUpWithItsGroup) {
  Outputs outputs;
  const auto input = input_of(4);
  std::vector<PageId> pages;
  ASSERT_EQ(outputs.take({}, input, pages), Taken::kNew);
  outputs.clock.begin_plan();
  outputs.note_computed(pages, {}, input);
  outputs.clock.write();
  outputs.release(pages);
  outputs.clock.run(1);
  EXPECT_FALSE(outputs.contains({}, input));
  outputs.check(0);
}

TEST(EncoderOutputs, OfTwoThatComputeTheSameTheFirstOnesIsKept) {
  Outputs outputs;
  const auto input = input_of(4);
  std::vector<PageId> first;
  std::vector<PageId> second;
  ASSERT_EQ(outputs.take({}, input, first), Taken::kNew);
  ASSERT_EQ(outputs.take({}, input, second), Taken::kNew);
  outputs.clock.begin_plan();
  outputs.note_computed(first, {}, input);
  outputs.note_computed(second, {}, input);
  outputs.clock.write();
  outputs.clock.run(1);
  EXPECT_EQ(outputs.stats().encoder_pages, 1);
  outputs.release(second);
  outputs.check(1);
  std::vector<PageId> third;
  ASSERT_EQ(outputs.take({}, input, third), Taken::kFound);
  EXPECT_EQ(third, first);
}

TEST(EncoderOutputs, RoomIsMadeByTheOutputsLeftLongestAgo) {
  Outputs outputs;
  const auto older = outputs.compute(input_of(8, 10));
  const auto newer = outputs.compute(input_of(8, 20));
  outputs.release(older);
  outputs.release(newer);
  std::vector<PageId> used_again;
  ASSERT_EQ(outputs.take({}, input_of(8, 10), used_again), Taken::kFound);
  outputs.release(used_again);
  const auto large = outputs.compute(input_of(24));
  EXPECT_TRUE(outputs.contains({}, input_of(8, 10)));
  EXPECT_FALSE(outputs.contains({}, input_of(8, 20)));
  EXPECT_EQ(outputs.stats().given_up, 2U);
  std::vector<PageId> none;
  EXPECT_EQ(outputs.take({}, input_of(12, 30), none), Taken::kNoRoom);
  EXPECT_THAT(none, IsEmpty());
  EXPECT_TRUE(outputs.contains({}, input_of(8, 10)));
  outputs.release(large);
  outputs.forget_all();
  EXPECT_FALSE(outputs.contains({}, input_of(8, 10)));
  outputs.check(0);
}

TEST(EncoderOutputs, NothingIsFoundWhereNothingIsKept) {
  Outputs outputs(/*keeps=*/false);
  const auto pages = outputs.compute(input_of(8));
  EXPECT_FALSE(outputs.contains({}, input_of(8)));
  outputs.release(pages);
  EXPECT_FALSE(outputs.contains({}, input_of(8)));
  EXPECT_EQ(outputs.stats().lookups, 0U);
  EXPECT_EQ(outputs.free(), 8);
}

}  // namespace
}  // namespace weft::test
