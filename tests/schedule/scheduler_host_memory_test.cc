// Tests of pages that go to host memory when the device has no room to keep them, and come back.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "weft/gpu/plan.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::microseconds;

class SchedulerHostMemoryTest : public SchedulerFixture {
 protected:
  static SchedulerOptions small(std::int32_t places) {
    SchedulerOptions options = roomy();
    options.limits.pages = 16;
    options.limits.host_pages = places;
    return options;
  }
  /// Returns how many tokens the device computes for it alone.
  std::uint64_t tokens_fed_by(const Ask& ask) {
    const std::uint64_t before = device_->tokens();
    submit(ask);
    finish_all();
    return device_->tokens() - before;
  }
  [[nodiscard]] PrefixStats prefixes() const { return scheduler_->stats().prefixes; }
};

TEST_F(SchedulerHostMemoryTest, WhatTheDeviceHasNoRoomForIsNotComputedAgain) {
  start(small(32));
  const Ask first{.prompt = 41, .max_tokens = 1, .text = 1};
  EXPECT_EQ(tokens_fed_by(first), 41U);
  EXPECT_EQ(tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2}), 61U);
  EXPECT_EQ(prefixes().went_out, 10U);
  EXPECT_EQ(prefixes().given_up, 0U);
  EXPECT_EQ(prefixes().on_host, 10);
  EXPECT_EQ(tokens_fed_by(first), 1U);
  EXPECT_EQ(outcomes_.back().cached, 40);
  EXPECT_EQ(prefixes().came_in, 10U);
}

TEST_F(SchedulerHostMemoryTest, BeyondBothMemoriesTheOldestEndsAreForgotten) {
  start(small(4));
  const Ask first{.prompt = 41, .max_tokens = 1, .text = 1};
  tokens_fed_by(first);
  tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2});
  EXPECT_EQ(prefixes().given_up, 6U);
  EXPECT_EQ(prefixes().on_host, 4);
  EXPECT_EQ(tokens_fed_by(first), 41U - 16);
}

TEST_F(SchedulerHostMemoryTest, WhoseKeyItIsCountsInHostMemoryToo) {
  start(small(32));
  tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "a"});
  tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2, .domain = "a"});
  ASSERT_GT(prefixes().on_host, 0);
  EXPECT_EQ(tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1, .domain = "b"}), 41U);
}

TEST_F(SchedulerHostMemoryTest, WhosePagesArriveIsFedInTheNextPlanWhileOthersCompute) {
  start(small(32));
  const Ask first{.prompt = 17, .max_tokens = 2, .text = 1};
  tokens_fed_by(first);
  tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2});
  GroupOutcome& other = submit({.prompt = 4, .max_tokens = 8});
  ASSERT_TRUE(tick());
  GroupOutcome& back = submit(first);
  ASSERT_TRUE(plan());
  ASSERT_TRUE(runs(back));
  EXPECT_NE(entry_of(other), nullptr);
  EXPECT_EQ(entry_of(back), nullptr);
  EXPECT_GE(newest().copies.size(), 4U);
  ASSERT_TRUE(plan());
  ASSERT_NE(entry_of(back), nullptr);
  EXPECT_EQ(entry_of(back)->start, 16);
  finish_all();
}

TEST_F(SchedulerHostMemoryTest, WhereNobodyComputesAPlanIsFedWhatArrivesWithIt) {
  start(small(32));
  const Ask first{.prompt = 17, .max_tokens = 2, .text = 1};
  tokens_fed_by(first);
  tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2});
  GroupOutcome& back = submit(first);
  ASSERT_TRUE(plan());
  ASSERT_NE(entry_of(back), nullptr);
  EXPECT_EQ(entry_of(back)->start, 16);
  finish_all();
}

TEST_F(SchedulerHostMemoryTest, AGroupThatGaveWayComesBackWithItsPages) {
  start(small(32));
  GroupOutcome& batch = submit({.prompt = 32, .max_tokens = 16, .cls = RequestClass::kBatch});
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(tick());
  const Ask chat{.prompt = 61, .max_tokens = 1};
  submit(chat);
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(batch));
  const std::uint64_t before = device_->tokens();
  finish_all();
  // 32 + 5 tokens had been computed, of which 9 pages are whole.
  EXPECT_EQ(device_->tokens() - before, 32U + 15 - 36);
  EXPECT_EQ(batch.outputs[0], alone(batch));
}

TEST_F(SchedulerHostMemoryTest, WhatIsSoonerComputedIsComputed) {
  // A page of four tokens is computed in 40 us.
  const auto took = [](const Plan& plan) { return microseconds(500 + 10 * tokens_of(plan)); };
  for (const bool copies_are_slow : {true, false}) {
    start(small(32), took, microseconds(copies_are_slow ? 400 : 4));
    for (int i = 0; i < 40; ++i) {
      tokens_fed_by({.prompt = 41, .max_tokens = 8, .text = 1});
      tokens_fed_by({.prompt = 61, .max_tokens = 3, .text = 2});
    }
    EXPECT_GT(prefixes().went_out, 0U);
    const std::uint64_t fed = tokens_fed_by({.prompt = 41, .max_tokens = 1, .text = 1});
    EXPECT_EQ(fed, copies_are_slow ? 41U : 1U);
  }
}

TEST_F(SchedulerHostMemoryTest, ALostStepForgetsHostMemoryToo) {
  start(small(32));
  const Ask first{.prompt = 41, .max_tokens = 1, .text = 1};
  tokens_fed_by(first);
  tokens_fed_by({.prompt = 61, .max_tokens = 1, .text = 2});
  submit({.prompt = 5, .max_tokens = 3});
  ASSERT_TRUE(plan());
  lose();
  EXPECT_EQ(prefixes().on_host, 0);
  EXPECT_EQ(tokens_fed_by(first), 41U);
}

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR
TEST(FakeDeviceDeathTest, CallsItABugToUseAPageThatIsCopiedBesideTheStep) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr std::int32_t kPages = 4;
  // A row goes on in page 0, and the plan says nothing of its table.
  const auto go_on_beside = [](const PlanCopy& copy) {
    DeviceLimits limits{.rows = 1, .pages = kPages, .host_pages = 1};
    limits.page_tokens = 4;
    limits.step_tokens = 4;
    limits.context = 8;
    limits.vocabulary = 16;
    FakeDevice device({.limits = limits});
    StepResult result;
    Plan plan;
    plan.starts.emplace_back();
    plan.tables.push_back({0, 0, 0, 1});
    plan.pages = {0};
    plan.ids = {1, 2};
    plan.entries.push_back({0, 1, 0, 0});
    device.run(plan, result);
    plan.clear();
    plan.ids = {3};
    plan.entries.push_back({0, 1, 1, 0});
    plan.copies.push_back(copy);
    device.run(plan, result);
  };
  go_on_beside({1, kPages});
  EXPECT_DEATH(go_on_beside({0, kPages}), "writes to a page that is copied beside it");
  EXPECT_DEATH(go_on_beside({kPages, 0}), "uses a page that is copied to beside it");
}
#endif

}  // namespace
}  // namespace weft::test
