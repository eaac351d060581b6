#include "weft/gpu/device_info.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(DeviceInfo, PutsTheHostFirst) {
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << to_string(devices.error());
  const DeviceInfo& host = devices->front();
  EXPECT_EQ(host.name, "cpu");
  EXPECT_GE(host.processors, 1);
  EXPECT_GT(host.memory_bytes, 0U);
  EXPECT_LE(host.free_bytes, host.memory_bytes);
  EXPECT_FALSE(host.model.empty());
}

TEST(DeviceInfo, NumbersTheGpusFromZero) {
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << to_string(devices.error());
  for (std::size_t i = 1; i < devices->size(); ++i) {
    EXPECT_EQ((*devices)[i].name, "cuda:" + std::to_string(i - 1));
    EXPECT_TRUE((*devices)[i].architecture.starts_with("sm_"));
    EXPECT_GT((*devices)[i].memory_bytes, std::size_t{1} << 30);
  }
}

TEST(DeviceInfo, RefusesToMeasureWhatIsNotThereAndNamesIt) {
  for (const std::string name : {"cuda:99", "cuda:", "cuda:0x", "cuda:-1", "tpu", ""}) {
    const auto rate = measure_read_bandwidth(name);
    ASSERT_FALSE(rate) << name;
    EXPECT_TRUE(rate.error().code == DeviceErrc::kNoSuchDevice ||
                rate.error().code == DeviceErrc::kNoGpuSupport)
        << rate.error().code.message();
    EXPECT_EQ(rate.error().detail, name);
  }
}

TEST(DeviceInfo, MeasuresWhatIsThere) {
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << to_string(devices.error());
  for (const DeviceInfo& device : *devices) {
    const auto rate = measure_read_bandwidth(device.name);
    ASSERT_TRUE(rate) << to_string(rate.error());
    EXPECT_GT(*rate, 1e8) << device.name << ": slower than any memory of this century";
  }
}

TEST(DeviceErrc, EachHasANameAndAMessage) {
  EXPECT_EQ(device_category().table().size(), static_cast<std::size_t>(DeviceErrc::kRankLost));
  for (const ErrorText& row : device_category().table()) {
    EXPECT_FALSE(row.name.empty());
    EXPECT_FALSE(row.message.empty());
  }
}

}  // namespace
}  // namespace weft
