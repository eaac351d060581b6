#include "weft/measure/engine/policy_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

std::vector<std::string> texts(const std::vector<Config>& configs) {
  std::vector<std::string> all;
  for (const Config& config : configs) all.push_back(policy_text(config));
  return all;
}

TEST(PolicyListTest, EachPolicyIsReadWithItsNumber) {
  const auto configs = with_policies({}, "fusion,window:50,static,instances:8").value();
  EXPECT_THAT(texts(configs), testing::ElementsAre("fusion", "window:50", "static", "8 instances"));
}

TEST(PolicyListTest, WhatIsLeftOutIsTheConfigurations) {
  Config config;
  config.max_rows = 5;
  config.window = std::chrono::milliseconds(70);
  config.instances = 3;
  const auto configs = with_policies(config, "window,instances").value();
  EXPECT_THAT(texts(configs), testing::ElementsAre("window:70", "3 instances"));
  EXPECT_EQ(configs.front().max_rows, 5);
}

TEST(PolicyListTest, WhatIsNoPolicyIsRefusedByItsName) {
  for (const char* const list :
       {"", "fusion,", "fast", "fusion:3", "static:1", "window:", "window:x", "window:5x",
        "instances:0", "instances:9999", "window:-4"}) {
    const auto configs = with_policies({}, list);
    ASSERT_TRUE(configs.has_error()) << list;
    EXPECT_EQ(configs.error().code, MeasureErrc::kBadLoad);
    EXPECT_THAT(configs.error().detail, testing::StartsWith("\"")) << list;
  }
}

}  // namespace
}  // namespace weft::measure
