#include "weft/gpu/ranks/partition_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/device_error.h"
#include "weft/gpu/host/host_capacity.h"
#include "weft/gpu/ranks/settle_partition.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kGpuRate = 1e12;
constexpr double kHostRate = 2e10;
constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

/// Wide enough that reading a layer takes a GPU much longer than adding its parts up.
constexpr LlamaShape kShape{.layers = 8,
                            .hidden = 1024,
                            .ffn = 8192,
                            .heads = 8,
                            .kv_heads = 8,
                            .vocabulary = 512,
                            .context = 256};

/// Devices with the host's needs; devices named cuda:N read at a GPU's speed.
ChoosableDevice made(const std::string& name, std::int64_t free_bytes) {
  return {.name = name,
          .free_bytes = free_bytes,
          .bytes_per_second = name == "cpu" ? kHostRate : kGpuRate,
          .needs = host_needs};
}

class PartitionChoiceTest : public testing::Test {
 protected:
  PartitionChoiceTest() {
    wishes_.capacity.memory_fraction = 1;
    wishes_.capacity.rows = 1;
    wishes_.capacity.step_tokens = 1;
  }

  static const RandomLlama& model() {
    static const RandomLlama llama(kShape, 1);  // 100 MB of random numbers
    return llama;
  }

  /// Returns the free bytes that a device needs for a part of the weights, with a tenth for
  /// everything else.
  [[nodiscard]] std::int64_t room_for(double part) const {
    return static_cast<std::int64_t>(part * 1.1 *
                                     static_cast<double>(model().program()->weight_bytes()));
  }
  [[nodiscard]] Result<PartitionChoice> choose(const std::vector<ChoosableDevice>& devices) const {
    return choose_partition(model().opened(), devices, wishes_);
  }
  [[nodiscard]] std::string chosen(const std::vector<ChoosableDevice>& devices) const {
    return choose(devices).value().partition;
  }

  ChoiceWishes wishes_;
};

TEST_F(PartitionChoiceTest, TakesTheOnlyDevice) {
  const auto choice = choose({made("cpu", kPlenty)}).value();
  EXPECT_EQ(choice.partition, "cpu");
  ASSERT_EQ(choice.reasons.size(), 2U);
  EXPECT_THAT(choice.reasons[1], HasSubstr("cpu: layers 0..7, weights "));
}

TEST_F(PartitionChoiceTest, SharesLayersAmongGpusWhereReadingTakesLong) {
  const auto choice =
      choose({made("cpu", kPlenty), made("cuda:0", kPlenty), made("cuda:1", kPlenty)}).value();
  EXPECT_EQ(choice.partition, "cuda:0,cuda:1");
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("cuda:1: layers 0..7, part 2 of 2, weights ")));
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("not cuda:0 | cuda:1: ")));
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("not cpu: ")));
}

TEST_F(PartitionChoiceTest, TakesOneGpuWhereSumsWouldTakeAsLongAsReading) {
  const RandomLlama tiny({.layers = 8, .hidden = 64, .ffn = 96}, 1);
  const std::vector<ChoosableDevice> devices = {made("cuda:0", kPlenty), made("cuda:1", kPlenty)};
  EXPECT_EQ(choose_partition(tiny.opened(), devices, wishes_).value().partition, "cuda:0");
}

TEST_F(PartitionChoiceTest, TakesTheFewestDevicesOfThoseThatAreAboutAsFast) {
  std::vector<ChoosableDevice> devices = {made("cuda:0", kPlenty), made("cuda:1", kPlenty)};
  // So fast that two of them save 8 % of a step, most of which is waiting for sums.
  const double reading = bytes_of_row(*model().program());
  const double sums = 2 * 8 * 5e-6;
  for (ChoosableDevice& device : devices) device.bytes_per_second = reading / (2.38 * sums);
  const auto choice = choose(devices).value();
  EXPECT_EQ(choice.partition, "cuda:0");
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("not worth another device")));
}

TEST_F(PartitionChoiceTest, PutsAStageOnEachGpuWhereTheyCannotShareTheHeads) {
  LlamaShape shape = kShape;
  shape.heads = shape.kv_heads = 1;
  shape.ffn = 128;
  const RandomLlama model(shape, 1);
  const auto room =
      static_cast<std::int64_t>(0.6 * static_cast<double>(model.program()->weight_bytes()));
  const auto choice =
      choose_partition(model.opened(), {made("cuda:0", room), made("cuda:1", room)}, wishes_);
  EXPECT_EQ(choice.value().partition, "cuda:0 | cuda:1");
  EXPECT_THAT(choice.value().reasons, Contains(HasSubstr("not cuda:0,cuda:1: cuda:0: weights")));
}

TEST_F(PartitionChoiceTest, LeavesTheLayersThatDoNotFitOnGpusToTheHost) {
  const auto choice = choose({made("cpu", kPlenty), made("cuda:0", room_for(0.5))}).value();
  EXPECT_EQ(choice.partition, "cuda:0@4 | cpu");
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("not cuda:0: weights and buffers take")));
}

TEST_F(PartitionChoiceTest, LeavesTheHostOutWhereTheGpusHaveRoom) {
  const auto choice =
      choose({made("cpu", kPlenty), made("cuda:0", room_for(0.6)), made("cuda:1", room_for(0.6))})
          .value();
  EXPECT_EQ(choice.partition, "cuda:0,cuda:1");
}

TEST_F(PartitionChoiceTest, FallsBackToTheHostWhereGpusHaveNoRoomForALayer) {
  const auto choice = choose({made("cpu", kPlenty), made("cuda:0", 1000)}).value();
  EXPECT_EQ(choice.partition, "cpu");
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("not cuda:0@1 | cpu: cuda:0: weights and")));
}

TEST_F(PartitionChoiceTest, SaysWhatEachLacksWhereNothingFits) {
  const auto choice = choose({made("cpu", 1000), made("cuda:0", 1000)});
  EXPECT_THAT(choice, FailsWith(DeviceErrc::kOutOfMemory,
                                "partition: auto: nothing has room for the model; cpu: weights"));
  EXPECT_THAT(choice.error().detail, HasSubstr("; cuda:0: weights"));
}

TEST_F(PartitionChoiceTest, UsesOneGpuWhereThereIsNoNccl) {
  wishes_.gpus_exchange = false;
  const auto choice = choose({made("cuda:0", kPlenty), made("cuda:1", kPlenty)}).value();
  EXPECT_EQ(choice.partition, "cuda:0");
  EXPECT_THAT(choice.reasons, Contains(HasSubstr("not cuda:0,cuda:1: there is no NCCL")));
}

TEST_F(PartitionChoiceTest, KeepsKeysInInt8OnAGpuToo) {
  wishes_.kv_dtype = DType::kI8;
  const auto choice = choose({made("cpu", kPlenty), made("cuda:0", kPlenty)}).value();
  EXPECT_EQ(choice.partition, "cuda:0");
}

TEST_F(PartitionChoiceTest, WantsRoomForTheContextThatIsWished) {
  const std::vector<ChoosableDevice> devices = {made("cpu", kPlenty), made("cuda:0", kPlenty)};
  wishes_.capacity.context = 1000;
  EXPECT_THAT(choose(devices), FailsWith(DeviceErrc::kUnfit, "more than the model's 256"));
}

TEST_F(PartitionChoiceTest, CountsOfALayersExpertsThoseThatATokenChooses) {
  LlamaShape shape{.layers = 1, .family = LlamaShape::Family::kMixtral, .experts = 8, .chosen = 2};
  const double eight = bytes_of_row(*RandomLlama(shape, 1).program());
  shape.experts = 4;
  const double four = bytes_of_row(*RandomLlama(shape, 1).program());
  const double routers = 4.0 * 64 * 2;  // four rows of the router's matrix, in bf16
  EXPECT_DOUBLE_EQ(eight, four + routers);
}

TEST_F(PartitionChoiceTest, SettlesWhatIsNoAutoAsItIs) {
  const auto choice = settle_partition(model().opened(), "cpu | cpu", {}).value();
  EXPECT_EQ(choice.partition, "cpu | cpu");
  EXPECT_THAT(choice.reasons, IsEmpty());
}

TEST_F(PartitionChoiceTest, SettlesAutoAmongTheDevicesOfThisMachine) {
  const RandomLlama tiny({}, 1);
  const auto choice = settle_partition(tiny.opened(), "auto", {}).value();
  EXPECT_TRUE(parse_partition(choice.partition)) << choice.partition;
  ASSERT_FALSE(choice.reasons.empty());
  EXPECT_THAT(choice.reasons.front(), HasSubstr("partition auto: " + choice.partition));
}

}  // namespace
}  // namespace weft
