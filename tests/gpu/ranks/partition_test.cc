#include "weft/gpu/ranks/partition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/gpu/device_error.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;

TEST(ParsePartition, ReadsDevicesAndStages) {
  const Partition partition = parse_partition(" cuda:0 , cuda:1 @ 12 | cpu").value();
  ASSERT_EQ(partition.stages.size(), 2U);
  EXPECT_EQ(partition.stages[0].devices, (std::vector<std::string>{"cuda:0", "cuda:1"}));
  EXPECT_EQ(partition.stages[0].layers, 12);
  EXPECT_EQ(partition.stages[1].devices, (std::vector<std::string>{"cpu"}));
  EXPECT_EQ(partition.stages[1].layers, -1);
  EXPECT_EQ(to_string(partition), "cuda:0,cuda:1@12 | cpu");
  EXPECT_EQ(partition.widths(), (std::vector<std::int32_t>{2, 1}));
}

TEST(ParsePartition, DealsOutWholeExpertsAmongDevicesWithAPlusBetween) {
  const Partition partition = parse_partition("cuda:0 + cuda:1@3 | cpu,cpu").value();
  ASSERT_EQ(partition.stages.size(), 2U);
  EXPECT_EQ(partition.stages[0].devices, (std::vector<std::string>{"cuda:0", "cuda:1"}));
  EXPECT_TRUE(partition.stages[0].whole_experts);
  EXPECT_FALSE(partition.stages[1].whole_experts);
  EXPECT_EQ(to_string(partition), "cuda:0+cuda:1@3 | cpu,cpu");
  EXPECT_TRUE(parts_of(partition, 4).value().front().whole_experts);
}

TEST(ParsePartition, SaysWhatIsWrong) {
  for (const auto& [text, reason] : {std::pair{"cpu,", "a device is missing"},
                                     {"| cpu", "a device is missing"},
                                     {"cpu+", "a device is missing"},
                                     {"cpu+cpu,cpu", "'cpu+cpu,cpu': all devices of a stage"},
                                     {"cpu@0", "'0' behind @ is no number of layers"},
                                     {"cpu@x", "'x' behind @ is no number of layers"},
                                     {"cpu@", "'' behind @ is no number of layers"}}) {
    EXPECT_THAT(parse_partition(text), FailsWith(DeviceErrc::kUnfit, reason)) << text;
  }
  std::string many = "cpu";
  for (int i = 0; i < 64; ++i) many += ",cpu";
  EXPECT_THAT(parse_partition(many), FailsWith(DeviceErrc::kUnfit, "65 devices, at most 64"));
}

TEST(ParseReplicas, ReadsThePartitionOfEach) {
  EXPECT_EQ(parse_replicas({"cpu"}).value().size(), 1U);
  EXPECT_EQ(parse_replicas({"cpu", "cpu", "cpu"}).value().size(), 3U);
  const auto replicas = parse_replicas({"cuda:0,cuda:1", "cuda:2,cuda:3"}).value();
  ASSERT_EQ(replicas.size(), 2U);
  EXPECT_EQ(to_string(replicas[1]), "cuda:2,cuda:3");
}

TEST(ParseReplicas, RefusesThoseThatAreNotAlike) {
  using Texts = std::vector<std::string>;
  for (const auto& [texts, reason] :
       {std::pair{Texts{"cpu", "cpu,"}, "a device is missing"},
        {Texts{"cpu", "cuda:0"}, "'cuda:0' beside 'cpu': all must be on the same kinds of devices"},
        {Texts{"cuda:0", "cpu,cuda:1"}, "'cpu' and 'cuda:1' share layers"},
        {Texts{"cpu,cpu", "cpu"}, "'cpu' beside 'cpu,cpu': each has as many stages"},
        {Texts{"cpu,cpu", "cpu | cpu"}, "each has as many stages"},
        {Texts{"cuda:0", "cuda:0"}, "'cuda:0': a GPU is in two of them"},
        {Texts{"cuda:0,cuda:1", "cuda:2,cuda:1"}, "a GPU is in two of them"}}) {
    EXPECT_THAT(parse_replicas(texts), FailsWith(DeviceErrc::kUnfit, reason)) << texts.back();
  }
}

std::vector<std::int32_t> layer_counts(const char* text, std::int64_t layers) {
  std::vector<std::int32_t> counts;
  for (const ProgramPart& part : parts_of(parse_partition(text).value(), layers).value()) {
    counts.push_back(part.layers);
  }
  return counts;
}

TEST(PartsOf, SharesTheLayersThatNobodyHasANumberFor) {
  EXPECT_EQ(layer_counts("cpu | cpu | cpu", 10), (std::vector<std::int32_t>{4, 3, 3}));
  EXPECT_EQ(layer_counts("cpu@7 | cpu | cpu", 10), (std::vector<std::int32_t>{7, 2, 1}));
  EXPECT_EQ(layer_counts("cpu,cpu | cpu@3", 10), (std::vector<std::int32_t>{7, 7, 3}));
}

TEST(PartsOf, RefusesStagesWithoutLayers) {
  for (const char* text : {"cpu | cpu | cpu", "cpu@2 | cpu", "cpu@1 | cpu@2"}) {
    EXPECT_THAT(parts_of(parse_partition(text).value(), 2),
                FailsWith(DeviceErrc::kUnfit, "the model has 2 layers"))
        << text;
  }
}

TEST(DevicesOf, TellsHostsFromGpusAndRefusesStagesOfBoth) {
  const auto ask = [](const char* text) { return devices_of(parse_partition(text).value()); };
  EXPECT_EQ(ask("cpu,cpu | cpu").value(), RankDevices::kHost);
  EXPECT_EQ(ask("cuda:0,cuda:1 | cuda:3").value(), RankDevices::kGpus);
  EXPECT_EQ(ask("cuda:0,cuda:1 | cpu").value(), RankDevices::kBoth);
  EXPECT_THAT(ask("cuda:0 | cuda:1,cuda:0"),
              FailsWith(DeviceErrc::kUnfit, "'cuda:0' stands there twice"));
  EXPECT_THAT(ask("cpu | cuda:1,cpu"),
              FailsWith(DeviceErrc::kUnfit, "'cuda:1' and 'cpu' share layers"));
  EXPECT_THAT(ask("cpu,cuda:1"), FailsWith(DeviceErrc::kUnfit, "'cpu' and 'cuda:1'"));
}

}  // namespace
}  // namespace weft
