#include "weft/measure/steps/hole_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace weft::measure {
namespace {

/// Keeps the plans that it gets.
class PlanKeeper final : public StepDevice {
 public:
  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& /*result*/) override { plans.push_back(plan); }

  std::vector<Plan> plans;

 private:
  DeviceLimits limits_{.rows = 8, .pages = 100, .page_tokens = 4, .step_tokens = 64};
};

class HoleDeviceTest : public testing::Test {
 protected:
  /// Runs a step of the rows [0, rows); the rows from `started` on are new.
  const Plan& step(std::int32_t rows, std::int32_t started, std::vector<PlanMove> moves = {}) {
    Plan plan;
    plan.rows = rows;
    plan.moves = std::move(moves);
    for (std::int32_t row = 0; row < rows; ++row) {
      if (row >= started) {
        PlanStart start;
        start.row = row;
        plan.starts.push_back(start);
      }
      plan.entries.push_back({row, 1, 9, kLastToken});
      plan.samples.push_back({row, row});
    }
    StepResult result;
    holes_.run(plan, result);
    return device_->plans.back();
  }

  static std::size_t added(const Plan& plan) { return plan.entries.size() - plan.samples.size(); }

  const std::shared_ptr<PlanKeeper> device_ = std::make_shared<PlanKeeper>();
  HoleDevice holes_{device_};
};

TEST_F(HoleDeviceTest, TheEngineSeesHalfOfTheRowsAndAPageLessForEachOther) {
  EXPECT_EQ(holes_.limits().rows, 4);
  EXPECT_EQ(holes_.limits().pages, 96);
  EXPECT_EQ(holes_.limits().step_tokens, 60);
}

TEST_F(HoleDeviceTest, RowsThatLieTogetherLeaveNoHole) {
  EXPECT_EQ(added(step(3, 0)), 0U);
  EXPECT_EQ(added(step(3, 3)), 0U);
  EXPECT_EQ(holes_.computed_holes(), 0);
}

TEST_F(HoleDeviceTest, WhatEndedInTheMiddleIsComputedUntilSomebodyTakesItsPlace) {
  step(4, 0);
  // The second one ends, and the shuffle moves the last one there.
  EXPECT_EQ(added(step(3, 3, {{3, 1}})), 1U);
  EXPECT_EQ(added(step(3, 3)), 1U);
  EXPECT_EQ(holes_.computed_holes(), 2);
  // The next one to come fills the hole.
  EXPECT_EQ(added(step(4, 3)), 0U);
}

TEST_F(HoleDeviceTest, WhatEndedAtAnEdgeIsComputedNoLonger) {
  step(4, 0);
  // The first one ends, then the last one: the rows that are left are contiguous.
  EXPECT_EQ(added(step(3, 3, {{3, 0}})), 0U);
  EXPECT_EQ(added(step(2, 2, {{2, 0}})), 0U);
}

TEST_F(HoleDeviceTest, AHolesSequenceHasARowAndAPageThatNobodyElseHas) {
  step(4, 0);
  // The second and the third end.
  const Plan& plan = step(2, 2, {{3, 1}});
  ASSERT_EQ(added(plan), 2U);
  std::set<std::int32_t> rows;
  std::set<std::int32_t> pages;
  for (const PlanEntry& entry : plan.entries) rows.insert(entry.row);
  for (const PlanTable& table : plan.tables) {
    EXPECT_EQ(table.count, 1);
    pages.insert(plan.pages[static_cast<std::size_t>(table.first_page)]);
  }
  EXPECT_THAT(rows, testing::ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(pages, testing::ElementsAre(96, 97));
  EXPECT_EQ(plan.samples.size(), 2U);
}

}  // namespace
}  // namespace weft::measure
