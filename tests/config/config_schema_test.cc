#include "weft/config/config_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Optional;

const Setting& setting(std::string_view path) {
  const auto found = std::ranges::find(config_schema(), path, &ConfigKey::path);
  EXPECT_NE(found, config_schema().end()) << path;
  return found->setting;
}

/// What assign() finds wrong with a value, "" when nothing.
std::string wrong(std::string_view path, const ConfigValue& value) {
  Config config;
  const Complaint complaint = assign(setting(path), value, config);
  // What is refused changes nothing, and what is taken passes the check.
  const std::string standard = value_of(setting(path), Config());
  if (complaint) {
    EXPECT_EQ(value_of(setting(path), config), standard);
    return *complaint;
  }
  EXPECT_EQ(check(setting(path), config), std::nullopt);
  return "";
}

TEST(ConfigSchemaTest, HasEachKeyOnceAndTablesTogether) {
  std::set<std::string> paths;
  std::set<std::string_view> tables;
  std::string_view table;
  for (const ConfigKey& key : config_schema()) {
    EXPECT_TRUE(paths.insert(key.path()).second) << key.path();
    const bool goes_on = key.table == table;
    EXPECT_TRUE(goes_on || tables.insert(key.table).second) << key.table;
    table = key.table;
  }
}

// A field that is new in Config does not compile here; then it needs a key as well.
TEST(ConfigSchemaTest, HasAKeyForEachFieldOfConfig) {
  const auto& [model, spec, device, threads, fraction, rows, pages, page_tokens, context,
               step_tokens, dtype, layout, policy, window, instances, admission, watermark, target,
               every, requests, tokens, workers, bytes] = Config();
  const std::initializer_list<const void*> fields = {
      &model,     &spec,        &device, &threads,  &fraction, &rows,    &pages,     &page_tokens,
      &context,   &step_tokens, &dtype,  &layout,   &policy,   &window,  &instances, &admission,
      &watermark, &target,      &every,  &requests, &tokens,   &workers, &bytes};
  EXPECT_EQ(config_schema().size() + 1, fields.size());  // policy and window share a key
}

// Each key changes its own value and no other's.
TEST(ConfigSchemaTest, SetsTheFieldThatAKeyNames) {
  const auto other_value = [](const Setting& one) -> ConfigValue {
    if (std::holds_alternative<TextSetting>(one)) return "other";
    if (const auto* integer = std::get_if<IntegerSetting>(&one)) return integer->high;
    if (const auto* number = std::get_if<NumberSetting>(&one)) return number->high;
    if (const auto* time = std::get_if<MillisecondsSetting>(&one)) return time->high;
    if (const auto* choice = std::get_if<ChoiceSetting>(&one)) {
      return std::string(choice->names.back());
    }
    return "window:7";
  };
  for (const ConfigKey& key : config_schema()) {
    Config config;
    ASSERT_EQ(assign(key.setting, other_value(key.setting), config), std::nullopt) << key.path();
    for (const ConfigKey& each : config_schema()) {
      const bool changed = value_of(each.setting, config) != value_of(each.setting, Config());
      EXPECT_EQ(changed, each.path() == key.path()) << key.path() << " and " << each.path();
    }
  }
}

TEST(ConfigSchemaTest, TakesWholeNumbersUpToTheirBounds) {
  for (const ConfigKey& key : config_schema()) {
    const auto* integer = std::get_if<IntegerSetting>(&key.setting);
    if (integer == nullptr) continue;
    EXPECT_EQ(wrong(key.path(), integer->low), "");
    EXPECT_EQ(wrong(key.path(), integer->high), "");
    EXPECT_NE(wrong(key.path(), integer->low - 1), "") << key.path();
    EXPECT_NE(wrong(key.path(), integer->high + 1), "") << key.path();
  }
  EXPECT_EQ(wrong("memory.page_tokens", std::int64_t{0}), "0: must be a whole number in 1 .. 4096");
  EXPECT_EQ(wrong("memory.page_tokens", 16.0), "16: must be a whole number in 1 .. 4096");
  EXPECT_EQ(wrong("memory.page_tokens", true), "true: must be a whole number in 1 .. 4096");
  EXPECT_EQ(wrong("memory.page_tokens", ConfigValue()),
            "a list, table or date: must be a whole number in 1 .. 4096");
}

TEST(ConfigSchemaTest, TakesNumbersUpToTheirBounds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(wrong("memory.fraction", 0.01), "");
  EXPECT_EQ(wrong("memory.fraction", std::int64_t{1}), "");
  EXPECT_EQ(wrong("memory.fraction", 1.5), "1.5: must be a number in 0.01 .. 1");
  EXPECT_EQ(wrong("memory.fraction", kInfinity), "inf: must be a number in 0.01 .. 1");
  EXPECT_EQ(wrong("memory.fraction", std::numeric_limits<double>::quiet_NaN()),
            "nan: must be a number in 0.01 .. 1");
  EXPECT_EQ(wrong("memory.fraction", "most"), "\"most\": must be a number in 0.01 .. 1");
}

TEST(ConfigSchemaTest, TakesMillisecondsAndTheirFractions) {
  Config config;
  EXPECT_EQ(assign(setting("scheduling.target_inter_token_ms"), 2.5, config), std::nullopt);
  EXPECT_EQ(config.target_inter_token, microseconds(2'500));
  EXPECT_EQ(assign(setting("scheduling.target_inter_token_ms"), std::int64_t{3}, config),
            std::nullopt);
  EXPECT_EQ(config.target_inter_token, milliseconds(3));
  EXPECT_EQ(wrong("scheduling.target_inter_token_ms", 0.05),
            "0.05: must be a number in 0.1 .. 60000");
}

TEST(ConfigSchemaTest, TakesTheNamesOfAChoiceOnly) {
  Config config;
  EXPECT_EQ(assign(setting("memory.kv_dtype"), "bf16", config), std::nullopt);
  EXPECT_EQ(config.kv_dtype, DType::kBF16);
  EXPECT_EQ(assign(setting("memory.kv_layout"), "slab", config), std::nullopt);
  EXPECT_EQ(config.kv_layout, KvLayout::kSlab);
  EXPECT_EQ(assign(setting("scheduling.admission"), "reserve", config), std::nullopt);
  EXPECT_EQ(config.admission, AdmissionMode::kReserve);
  EXPECT_EQ(wrong("memory.kv_dtype", "q8_0"),
            "\"q8_0\": must be one of \"f32\", \"f16\", \"bf16\"");
  EXPECT_EQ(wrong("memory.kv_dtype", std::int64_t{16}),
            "16: must be one of \"f32\", \"f16\", \"bf16\"");
}

TEST(ConfigSchemaTest, TakesAPolicyByNameOrAWindowInMilliseconds) {
  const auto chosen = [](const std::string& text) {
    Config config;
    EXPECT_EQ(assign(setting("scheduling.policy"), text, config), std::nullopt) << text;
    return std::pair(config.policy, config.window);
  };
  EXPECT_EQ(chosen("fusion"), std::pair(BatchPolicy::kFusion, milliseconds(0)));
  EXPECT_EQ(chosen("static"), std::pair(BatchPolicy::kStatic, milliseconds(0)));
  EXPECT_EQ(chosen("instances"), std::pair(BatchPolicy::kInstances, milliseconds(0)));
  EXPECT_EQ(chosen("window:500"), std::pair(BatchPolicy::kWindow, milliseconds(500)));
  for (const char* text : {"window", "window:", "window:0", "window:60001", "window:5ms",
                           "window:-1", "window: 5", "window:99999999999999999999", "Fusion", ""}) {
    EXPECT_NE(wrong("scheduling.policy", text), "") << text;
  }
}

TEST(ConfigSchemaTest, CutsALongValueBetweenCharacters) {
  std::string text(59, 'a');
  for (int i = 0; i < 1'000; ++i) text += "\u6F22";
  const std::string complaint = wrong("memory.kv_dtype", text);
  EXPECT_TRUE(complaint.starts_with('"' + std::string(59, 'a') + "...\": must")) << complaint;
}

TEST(ConfigSchemaTest, ChecksTheValuesThatAProgramPutIn) {
  Config config;
  config.kv_dtype = DType::kQ8_0;
  config.kv_layout = static_cast<KvLayout>(9);
  config.policy = BatchPolicy::kWindow;
  config.watermark = std::numeric_limits<double>::quiet_NaN();
  config.max_prompt_bytes = -1;
  config.target_inter_token = microseconds(0);
  for (const char* path :
       {"memory.kv_dtype", "memory.kv_layout", "scheduling.policy", "scheduling.watermark",
        "edge.max_prompt_bytes", "scheduling.target_inter_token_ms"}) {
    EXPECT_TRUE(check(setting(path), config)) << path;
  }
  EXPECT_THAT(check(setting("scheduling.policy"), config),
              Optional(testing::StartsWith("\"window:0\": must be one of \"fusion\"")));
}

}  // namespace
}  // namespace weft
