#include "weft/cli/config_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "weft/config/config_error.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cli {
namespace {

using test::FailsWith;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string, std::less<>>;

/// Returns the draft that a verb with these options makes of a command line and an environment.
Result<ConfigDraft> draft_of(const std::string& command_line, const Variables& variables = {},
                             std::span<const ConfigKey> keys = config_schema()) {
  CLI::App app;
  const ConfigOptions options(app, keys);
  std::vector<std::string> words = CLI::detail::split(command_line, ' ');
  std::erase(words, "");
  std::ranges::replace(words, "''", "");
  std::ranges::reverse(words);  // the order that CLI11 expects
  app.parse(std::move(words));
  return options.draft([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

FileConfig config_of(const std::string& command_line, const Variables& variables = {}) {
  return draft_of(command_line, variables).value().config();
}

TEST(ConfigOptionsTest, TakesAFlagForEachKey) {
  for (const ConfigKey& key : config_schema()) {
    const bool is_switch = std::holds_alternative<FlagSetting>(key.setting);
    const std::string text = std::holds_alternative<TextSetting>(key.setting) ? "abc" : [&] {
      if (std::holds_alternative<AdaptersSetting>(key.setting)) return std::string("a=b");
      std::string value = value_of(key.setting, FileConfig());
      std::erase(value, '"');
      return value;
    }();
    const ConfigDraft draft = draft_of(key.flag() + (is_switch ? "" : " " + text)).value();
    EXPECT_EQ(draft.origin(key), key.flag());
    if (text == "abc") {
      EXPECT_EQ(toml_of(key.setting, draft.config()), "\"abc\"") << key.path();
    }
  }
}

TEST(ConfigOptionsTest, NamesAdaptersAndMergesABarePathByOneFlag) {
  const Config config =
      config_of("--adapter sql=a/sql --adapter ./b=c --adapter poet=p.gguf --adapter sql=a/sql2",
                {{"WEFT_ADAPTERS_NAMED", "old=o; poet=q"}})
          .engine;
  EXPECT_EQ(config.adapter, "./b=c");
  const std::vector<NamedAdapter> expected = {{"old", "o"}, {"poet", "p.gguf"}, {"sql", "a/sql2"}};
  EXPECT_EQ(config.adapters, expected);
  EXPECT_THAT(draft_of("--adapter a --adapter b"),
              FailsWith(ConfigErrc::kBadConfig, "--adapter: one adapter can be merged"));
}

TEST(ConfigOptionsTest, NamesAKindOrADraftModelByOneFlag) {
  EXPECT_EQ(config_of("--speculation suffix").engine.speculation, SpeculationKind::kSuffix);
  const Config drafted = config_of("--speculation models/draft").engine;
  EXPECT_EQ(drafted.speculation_model, "models/draft");
  EXPECT_EQ(drafted.speculation, SpeculationKind::kOff);
  EXPECT_TRUE(drafted.guesses_unasked());
  EXPECT_FALSE(Config().guesses_unasked());
  const Config both = config_of("--speculation suffix --speculation-model draft.gguf").engine;
  EXPECT_EQ(both.speculation_model, "draft.gguf");
  EXPECT_EQ(both.speculation, SpeculationKind::kSuffix);
  EXPECT_THAT(draft_of("--speculation sufix"), FailsWith(ConfigErrc::kBadConfig, "--speculation"));
}

TEST(ConfigOptionsTest, TakesAVariableForEachKey) {
  for (const ConfigKey& key : config_schema()) {
    std::string value = value_of(key.setting, FileConfig());
    std::erase(value, '"');
    const bool names = std::holds_alternative<AdaptersSetting>(key.setting);
    if (value.empty()) value = names ? "a=b" : "abc";
    const ConfigDraft draft = draft_of("", {{key.variable(), value}}).value();
    EXPECT_EQ(draft.origin(key), key.variable());
    if (value == "abc") {
      EXPECT_EQ(toml_of(key.setting, draft.config()), "\"abc\"") << key.path();
    }
  }
}

TEST(ConfigOptionsTest, PutsFlagsOverVariablesOverTheFileOverDefaults) {
  const test::TempFolder folder;
  const std::string file = "--config " + folder
                                             .write("a.toml",
                                                    "memory.max_rows = 2\nmemory.max_pages = 2\n"
                                                    "memory.page_tokens = 2")
                                             .string();
  const Variables variables = {{"WEFT_MEMORY_MAX_ROWS", "3"}, {"WEFT_MEMORY_MAX_PAGES", "3"}};
  const Config config = config_of(file + " --max-rows 4", variables).engine;
  EXPECT_EQ(config.max_rows, 4);
  EXPECT_EQ(config.max_pages, 3);
  EXPECT_EQ(config.page_tokens, 2);
  EXPECT_EQ(config.max_step_tokens, Config().max_step_tokens);
}

TEST(ConfigOptionsTest, TakesTheFileOfTheVariableWhenNoFlagNamesOne) {
  const test::TempFolder folder;
  const std::string one = folder.write("one.toml", "memory.max_rows = 1").string();
  const std::string two = folder.write("two.toml", "memory.max_rows = 2").string();
  EXPECT_EQ(config_of("", {{"WEFT_CONFIG", one}}).engine.max_rows, 1);
  EXPECT_EQ(config_of("--config " + two, {{"WEFT_CONFIG", one}}).engine.max_rows, 2);
  EXPECT_EQ(config_of("", {{"WEFT_CONFIG", ""}}).engine.max_rows, 0);
  EXPECT_THAT(draft_of("", {{"WEFT_CONFIG", "none.toml"}}),
              FailsWith(FileErrc::kCannotRead, "(the file of WEFT_CONFIG)"));
}

TEST(ConfigOptionsTest, NamesTheFlagTheVariableOrTheLineOfAMistake) {
  const test::TempFolder folder;
  const std::string file = folder.write("a.toml", "\nmemory.max_rows = 'few'").string();
  EXPECT_THAT(draft_of("--max-rows few"),
              FailsWith(ConfigErrc::kBadConfig, "--max-rows: memory.max_rows = \"few\": must be"));
  EXPECT_THAT(draft_of("--max-rows -1"),
              FailsWith(ConfigErrc::kBadConfig, "--max-rows: memory.max_rows = -1: must be"));
  EXPECT_THAT(
      draft_of("", {{"WEFT_LOG_PROMPTS", "yes"}}),
      FailsWith(ConfigErrc::kBadConfig, "WEFT_LOG_PROMPTS: log.prompts = \"yes\": must be"));
  EXPECT_THAT(draft_of("--config " + file),
              FailsWith(ConfigErrc::kBadConfig, file + ":2: memory.max_rows = \"few\": must be"));
}

// A flag corrects a value that would be wrong together with the file's other values.
TEST(ConfigOptionsTest, ChecksValuesTogetherWhenAllAreThere) {
  const test::TempFolder folder;
  const std::string file =
      "--config " + folder.write("a.toml", "server.tls_certificate = 'a'").string();
  EXPECT_TRUE(draft_of(file + " --tls-key b").value().finish());
  EXPECT_THAT(draft_of(file).value().finish(),
              FailsWith(ConfigErrc::kBadConfig, "a.toml:1: server.tls_certificate"));
}

TEST(ConfigOptionsTest, TakesAnEmptyVariableForNone) {
  EXPECT_EQ(config_of("", {{"WEFT_SERVER_HOST", ""}}).server.host, "127.0.0.1");
  EXPECT_EQ(config_of("--host ''").server.host, "");
}

TEST(ConfigOptionsTest, HasTwoFlagsForAKeyThatIsTrueOrFalse) {
  EXPECT_FALSE(config_of("--no-web-page").server.web_page);
  EXPECT_TRUE(config_of("--web-page", {{"WEFT_SERVER_WEB_PAGE", "false"}}).server.web_page);
  EXPECT_FALSE(config_of("--web-page=false").server.web_page);
  EXPECT_TRUE(config_of("--log-prompts").server.log_prompts);
  EXPECT_FALSE(config_of("--no-log-prompts", {{"WEFT_LOG_PROMPTS", "true"}}).server.log_prompts);
  EXPECT_THAT(draft_of("--web-page=maybe"), FailsWith(ConfigErrc::kBadConfig, "--web-page: "));
  EXPECT_THROW((void)draft_of("--web-page --no-web-page"), CLI::ParseError);
}

TEST(ConfigOptionsTest, TakesTheModelWithItsFlagOrWithout) {
  EXPECT_EQ(config_of("models/demo").engine.model, "models/demo");
  EXPECT_EQ(config_of("--model models/demo").engine.model, "models/demo");
  EXPECT_EQ(config_of("--port 80 models/demo --log-prompts").engine.model, "models/demo");
}

TEST(ConfigOptionsTest, LeavesTheServerOutForVerbsWithoutOne) {
  const Variables variables = {{"WEFT_SERVER_PORT", "tcp://10.0.0.1:80"},
                               {"WEFT_DEVICE_THREADS", "3"}};
  const ConfigDraft draft = draft_of("--max-rows 4", variables, engine_schema()).value();
  EXPECT_EQ(draft.config().engine.max_rows, 4);
  EXPECT_EQ(draft.config().engine.threads, 3);
  EXPECT_THROW((void)draft_of("--port 80", {}, engine_schema()), CLI::ParseError);
}

TEST(ConfigOptionsTest, HelpsByTableInAHundredColumns) {
  CLI::App app;
  const ConfigOptions options(app, config_schema());
  const std::string help = app.help();
  for (const char* table : {"model:", "device:", "memory:", "scheduling:", "edge:", "server:",
                            "auth:", "limits:", "log:"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n") + table + "\n"));
  }
  EXPECT_THAT(help, HasSubstr("\n  --port N                        TCP port; 0: any that is free "
                              "[0 .. 65535; default 8080]\n"));
  EXPECT_THAT(help, HasSubstr("\n  --no-web-page                   The opposite of --web-page\n"));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

}  // namespace
}  // namespace weft::cli
