#include "weft/config/config_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

ConfigDraft draft_of(std::string_view toml) {
  ConfigDraft draft;
  EXPECT_TRUE(draft.read(toml, "weft.toml"));
  return draft;
}

/// A draft in which every key has a value that is not its default, and text has all that TOML
/// escapes.
ConfigDraft changed_draft() {
  ConfigDraft draft;
  for (const ConfigKey& key : config_schema()) {
    const auto other = [&]() -> ConfigValue {
      if (key.table == "scheduling" && key.name == "policy") return "window:7";
      if (std::holds_alternative<ReplicasSetting>(key.setting)) return "cuda:0; a\"b\\c";
      if (std::holds_alternative<AdaptersSetting>(key.setting)) return "a=p/a\"b; c/d=q=r";
      if (std::holds_alternative<TextSetting>(key.setting)) return "a\"b\\c\n\t\x7F '\u6F22'";
      if (const auto* flag = std::get_if<FlagSetting>(&key.setting)) {
        return !flag->member.of(FileConfig());
      }
      if (const auto* integer = std::get_if<IntegerSetting>(&key.setting)) return integer->low;
      if (const auto* number = std::get_if<NumberSetting>(&key.setting)) return number->high / 3;
      if (const auto* time = std::get_if<TimeSetting>(&key.setting)) return time->high - 0.125;
      return std::string(std::get<ChoiceSetting>(key.setting).names.back());
    };
    EXPECT_TRUE(draft.set(key, other(), "test")) << key.path();
  }
  return draft;
}

void expect_same_but_secrets(const FileConfig& left, const FileConfig& right) {
  for (const ConfigKey& key : config_schema()) {
    const FileConfig& expected = is_secret(key.setting) ? FileConfig() : right;
    EXPECT_EQ(toml_of(key.setting, left), toml_of(key.setting, expected)) << key.path();
  }
}

TEST(ConfigPrintTest, PrintsEveryKeySoThatItReadsTheSameAgain) {
  const std::string standard = print_config(ConfigDraft(), PrintedKeys::kAll);
  for (const ConfigKey& key : config_schema()) {
    EXPECT_THAT(standard, HasSubstr("\n" + std::string(key.name) + " = "));
  }
  expect_same_but_secrets(draft_of(standard).finish().value(), FileConfig());

  const ConfigDraft changed = changed_draft();
  for (const PrintedKeys keys : {PrintedKeys::kAll, PrintedKeys::kChanged}) {
    ConfigDraft again;
    ASSERT_TRUE(again.read(print_config(changed, keys), "printed"));
    expect_same_but_secrets(again.config(), changed.config());
  }
}

TEST(ConfigPrintTest, SaysOfAKeyWhatItIsWhyItIsSoItsRangeAndWhoSetIt) {
  const std::string text = print_config(draft_of("\nserver.io_threads = 3"), PrintedKeys::kChanged);
  EXPECT_EQ(text,
            "[server]\n"
            "\n"
            "# Threads that read and write connections. The second goes on while the first reads a "
            "large body;\n"
            "# cores are for the model.\n"
            "# 1 .. 256; default 2; set by weft.toml:2\n"
            "io_threads = 3\n");
}

TEST(ConfigPrintTest, PrintsWhatIsChangedOnlyWhenAsked) {
  EXPECT_EQ(print_config(ConfigDraft(), PrintedKeys::kChanged), "");
  EXPECT_EQ(print_config(draft_of("server.io_threads = 2"), PrintedKeys::kChanged), "");
}

TEST(ConfigPrintTest, HidesTheApiKey) {
  const ConfigDraft draft = draft_of("auth.api_key = 'sesame'");
  for (const PrintedKeys keys : {PrintedKeys::kAll, PrintedKeys::kChanged}) {
    EXPECT_THAT(print_config(draft, keys), HasSubstr("\n# api_key = ... is set, and not shown\n"));
    EXPECT_THAT(print_config(draft, keys), Not(HasSubstr("sesame")));
  }
  EXPECT_THAT(print_config(ConfigDraft(), PrintedKeys::kAll), HasSubstr("\napi_key = \"\"\n"));
}

TEST(ConfigPrintTest, LetsNoNameOfAFileOutOfItsComment) {
  ConfigDraft draft;
  ASSERT_TRUE(draft.read("server.io_threads = 3", "a\nserver.port = 1"));
  ConfigDraft again;
  ASSERT_TRUE(again.read(print_config(draft, PrintedKeys::kAll), "printed"));
  EXPECT_EQ(again.config().server.port, 8080);
}

TEST(ConfigPrintTest, KeepsLinesReadable) {
  std::istringstream lines(print_config(ConfigDraft(), PrintedKeys::kAll));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(WrappedTest, CutsBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 7, "> "), "one two\n> three");
  EXPECT_EQ(wrapped("one two three", 6, "> "), "one\n> two\n> three");
  EXPECT_EQ(wrapped("a longest b", 3, ""), "a\nlongest\nb");
  EXPECT_EQ(wrapped("longest", 3, ""), "longest");
  EXPECT_EQ(wrapped("", 3, ""), "");
}

}  // namespace
}  // namespace weft
