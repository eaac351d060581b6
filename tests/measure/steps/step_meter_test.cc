#include "weft/measure/steps/step_meter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/gpu/files/page_files.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::measure {
namespace {

/// Does nothing but note that it was called.
class IdleDevice final : public StepDevice {
 public:
  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& /*plan*/, StepResult& /*result*/) override { ++steps; }
  [[nodiscard]] std::shared_ptr<PageFiles> page_files() const override { return files; }

  int steps = 0;
  std::shared_ptr<PageFiles> files;

 private:
  DeviceLimits limits_{.rows = 7};
};

TEST(StepMeterTest, HasTheDevicesFiles) {
  const test::TempFolder folder;
  std::vector<std::byte> page(64);
  const auto device = std::make_shared<IdleDevice>();
  const StepMeter meter(device);
  EXPECT_EQ(meter.page_files(), nullptr);
  device->files = std::make_shared<PageFiles>(
      PageFolder::open(folder.path(), PageKey{}, page.size(), std::int64_t{1} << 20U).value(),
      PageKey{}, std::make_unique<HostPageMemory>(std::vector{PageBlock{page.data(), page.size()}}),
      1);
  EXPECT_EQ(meter.page_files(), device->files);
}

TEST(StepMeterTest, AStepIsPassedOnAndNotedWithWhatItHadToDo) {
  const auto device = std::make_shared<IdleDevice>();
  StepMeter meter(device);
  EXPECT_EQ(meter.limits().rows, 7);
  Plan plan;
  plan.moves = {{3, 1}, {4, 2}};
  plan.slab_copies = {{30, 10}, {31, 11}, {40, 20}};
  plan.entries = {{.row = 0, .count = 1},
                  {.row = 1, .count = 1},
                  {.row = 2, .count = 1},
                  {.row = 3, .count = 5, .first_id = 0},
                  {.row = 4, .count = 9, .first_id = 5}};
  StepResult result;
  meter.run(plan, result);
  plan.clear();
  meter.run(plan, result);
  EXPECT_EQ(device->steps, 2);
  ASSERT_EQ(meter.records().size(), 2U);
  const StepRecord& first = meter.records().front();
  EXPECT_EQ(first.decodes, 3);
  EXPECT_EQ(first.prefills, 2);
  EXPECT_EQ(first.prefill_tokens, 14);
  EXPECT_EQ(first.sequences(), 5);
  EXPECT_EQ(first.moved_rows, 2);
  EXPECT_EQ(first.moved_pages, 3);
  const StepRecord& second = meter.records().back();
  EXPECT_EQ(second.sequences(), 0);
  EXPECT_EQ(second.moved_rows, 0);
  EXPECT_GE(second.began, first.ended);
}

}  // namespace
}  // namespace weft::measure
