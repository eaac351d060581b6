#include "weft/schedule/prefix_leaders.h"

#include <gtest/gtest.h>

#include <chrono>

#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

SchedulerOptions roomy_options(BatchPolicy policy = BatchPolicy::kFusion) {
  SchedulerOptions options = small_options();
  options.limits.pages = 200;
  options.limits.context = 256;
  options.policy = policy;
  return options;
}

/// Groups of these parts have the same prompt, as far as it goes.
struct LeaderParts : SchedulerParts {
  explicit LeaderParts(const SchedulerOptions& how = roomy_options())
      : SchedulerParts(how), leaders(how, memory, running, times) {}

  StepTimeModel times;
  PrefixLeaders leaders;
};

constexpr std::int32_t kLong = 2 * PrefixLeaders::kWorthAStep;

TEST(PrefixLeaders, ARunningGroupLeadsThoseWhosePromptBeginsLikeIts) {
  LeaderParts parts;
  Group& leader = parts.begin({.prompt = kLong});
  Group& waits = parts.arrive({.prompt = kLong});
  Group& short_one = parts.arrive({.prompt = 10});
  EXPECT_TRUE(parts.leaders.has_leader(waits));
  EXPECT_EQ(waits.leads.group, &leader);
  EXPECT_EQ(waits.leads.pages, (kLong - 1) / 4);
  EXPECT_FALSE(parts.leaders.has_leader(short_one)) << "it saves less than a step";
}

TEST(PrefixLeaders, ALeaderThatHasComputedItAllLeadsNobody) {
  LeaderParts parts;
  Group& leader = parts.begin({.prompt = kLong});
  Group& waits = parts.arrive({.prompt = kLong});
  ASSERT_TRUE(parts.leaders.has_leader(waits));
  Sequence& sequence = leader.sequences[0];
  sequence.progress.begin(kLong - 8);
  parts.memory.prefixes().keep(leader, sequence);
  EXPECT_TRUE(parts.leaders.has_leader(waits));
  sequence.progress.begin(kLong);
  parts.memory.prefixes().keep(leader, sequence);
  EXPECT_FALSE(parts.leaders.has_leader(waits));
  EXPECT_EQ(waits.leads.group, nullptr);
}

TEST(PrefixLeaders, APromptThatPlansPassOverLeadsUntilThePlanAfterItsLastPiece) {
  LeaderParts parts;
  Group& leader = parts.begin({.prompt = kLong});
  const auto make_plan = [&] {
    parts.clock.begin_plan();
    parts.memory.prefixes().offer();
    parts.clock.write();
    parts.memory.prefixes().settle_offers();
  };
  make_plan();
  make_plan();
  Group& waits = parts.arrive({.prompt = kLong});
  EXPECT_TRUE(parts.leaders.has_leader(waits));
  leader.phase = GroupPhase::kForked;
  EXPECT_TRUE(parts.leaders.has_leader(parts.arrive({.prompt = kLong})));
  make_plan();
  EXPECT_FALSE(parts.leaders.has_leader(parts.arrive({.prompt = kLong})));
}

TEST(PrefixLeaders, ALeaderThatIsGoneLeadsNobody) {
  LeaderParts parts;
  Group& leader = parts.begin({.prompt = kLong});
  Group& waits = parts.arrive({.prompt = kLong});
  ASSERT_TRUE(parts.leaders.has_leader(waits));
  parts.running.preempt(leader);
  EXPECT_FALSE(parts.leaders.has_leader(waits));
}

TEST(PrefixLeaders, ChatFollowsNoBatchAndBatchFollowsChat) {
  LeaderParts parts;
  parts.begin({.prompt = kLong, .cls = RequestClass::kBatch});
  Group& chat = parts.arrive({.prompt = kLong});
  EXPECT_FALSE(parts.leaders.has_leader(chat));
  parts.running.begin(chat);
  EXPECT_TRUE(
      parts.leaders.has_leader(parts.arrive({.prompt = kLong, .cls = RequestClass::kBatch})));
}

TEST(PrefixLeaders, NobodyIsFollowedIntoTheNextBatch) {
  LeaderParts parts(roomy_options(BatchPolicy::kStatic));
  parts.begin({.prompt = kLong});
  EXPECT_FALSE(parts.leaders.has_leader(parts.arrive({.prompt = kLong})));
}

TEST(PrefixLeaders, WhatIsWorthAStepIsLearntFromSteps) {
  using std::chrono::milliseconds;
  LeaderParts parts;
  parts.begin({.prompt = kLong});
  Group& waits = parts.arrive({.prompt = kLong});
  for (int i = 0; i < 50; ++i) {
    parts.times.learn({1, 0, 1}, milliseconds(50));
    parts.times.learn({1, 100, 100}, milliseconds(51));
  }
  EXPECT_FALSE(parts.leaders.has_leader(waits)) << "prompts cost this device next to nothing";
  for (int i = 0; i < 400; ++i) {
    parts.times.learn({1, 0, 1}, milliseconds(50));
    parts.times.learn({1, 100, 100}, milliseconds(250));
  }
  EXPECT_TRUE(parts.leaders.has_leader(waits));
}

}  // namespace
}  // namespace weft::test
