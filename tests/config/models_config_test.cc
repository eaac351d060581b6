#include "weft/config/models_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/config/config_draft.h"
#include "weft/config/config_error.h"
#include "weft/config/config_print.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTwo = R"(
[memory]
max_rows = 8
fraction = 0.5

[[models]]
name = "small"
path = "models/small"
aliases = ["gpt-4o-mini", "tiny"]
memory.max_rows = 16

[[models]]
name = "large"
path = "models/large"
load = false
share = 3
[models.memory]
bytes = 1000000
[models.device]
name = "cuda:0"
)";

Result<ModelsConfig> parse(std::string_view text) { return ModelsConfig::parse(text, "f"); }

TEST(ModelsConfigTest, GivesEachModelTheFilesKeysAndItsOwn) {
  const ModelsConfig all = parse(kTwo).value();
  ASSERT_EQ(all.models.size(), 2U);
  const ModelConfig& small = all.models[0];
  EXPECT_EQ(small.name, "small");
  EXPECT_THAT(small.aliases, ElementsAre("gpt-4o-mini", "tiny"));
  EXPECT_EQ(small.config.model, "models/small");
  EXPECT_EQ(small.config.max_rows, 16);
  EXPECT_EQ(small.config.device, "cpu");
  EXPECT_TRUE(small.load);
  EXPECT_FALSE(small.has_memory) << "the file's fraction is of all models together";
  const ModelConfig& large = all.models[1];
  EXPECT_EQ(large.config.max_rows, 8);
  EXPECT_EQ(large.config.memory_bytes, 1'000'000);
  EXPECT_EQ(large.config.device, "cuda:0");
  EXPECT_EQ(large.share, 3);
  EXPECT_FALSE(large.load);
  EXPECT_TRUE(large.has_memory);
  EXPECT_EQ(all.memory_fraction, 0.5);
  EXPECT_EQ(all.max_loaded, 0);
}

TEST(ModelsConfigTest, GivesEachModelAdaptersOfItsOwn) {
  const ModelsConfig all = parse(R"(
[[models]]
name = "one"
path = "p"
adapters.named = "sql=a/sql; poet=b"
[[models]]
name = "two"
path = "p"
[models.adapters]
folder = "f"
[models.adapters.named]
"org/x" = "c"
)")
                               .value();
  const std::vector<NamedAdapter> first = {{"sql", "a/sql"}, {"poet", "b"}};
  const std::vector<NamedAdapter> second = {{"org/x", "c"}};
  EXPECT_EQ(all.models[0].config.adapters, first);
  EXPECT_EQ(all.models[1].config.adapters, second);
  EXPECT_EQ(all.models[1].config.adapters_folder, "f");
}

TEST(ModelsConfigTest, MakesOneModelOfAFileWithout) {
  const ModelsConfig all = parse("model.path = \"m\"\nmemory.max_rows = 3\n").value();
  ASSERT_EQ(all.models.size(), 1U);
  EXPECT_EQ(all.models[0].config.model, "m");
  EXPECT_EQ(all.models[0].config.max_rows, 3);
}

TEST(ModelsConfigTest, TakesTheBoundOfLoadedModelsFromTheServersTable) {
  EXPECT_EQ(parse("server.max_loaded_models = 2\n" + std::string(kTwo)).value().max_loaded, 2);
}

struct Mistake {
  std::string_view text;
  ConfigErrc code;
  std::string_view says;
};

TEST(ModelsConfigTest, NamesFileLineAndKeyOfAMistake) {
  using enum ConfigErrc;
  const Mistake mistakes[] = {
      {"models = 3", kBadConfig, "f:1: models must be [[models]]"},
      {"[models]\nname = 'a'", kBadConfig, "f:1: models must be [[models]]"},
      {"[[models]]\npath = 'a'", kBadConfig, "f:1: models: name = \"\": must not be empty"},
      {"[[models]]\nname = 'a'", kBadConfig, "f:1: models: path is missing"},
      {"[[models]]\nname = 7\npath = 'a'", kBadConfig, "f:2: models: name must be a text"},
      {"[[models]]\nname = 'a'\npath = 'a'\n[[models]]\nname = 'a'\npath = 'b'", kBadConfig,
       "f:4: models: name = \"a\": is another model's name, too"},
      {"[[models]]\nname = 'a'\npath = 'a'\naliases = ['a']", kBadConfig,
       "f:1: models: aliases = \"a\": is another"},
      {"[[models]]\nname = 'a'\npath = 'a'\naliases = 'b'", kBadConfig,
       "f:4: models: aliases must"},
      {"[[models]]\nname = 'a'\npath = 'a'\nload = 1", kBadConfig, "f:4: models: load must be"},
      {"[[models]]\nname = 'a'\npath = 'a'\nshare = 'x'", kBadConfig, "share must be a number"},
      {"[[models]]\nname = 'a'\npath = 'a'\nshare = 0", kBadConfig, "share = 0"},
      {"[[models]]\nname = 'a'\npath = 'a'\nshare = nan", kBadConfig, "share = nan"},
      {"[[models]]\nname = \"a\\u0007\"\npath = 'a'", kBadConfig, "has a control character"},
      {"[[models]]\nname = 'a'\npath = 'a'\nmemory.max_rows = -1", kBadConfig,
       "f:4: models: memory.max_rows = -1: must be a whole number"},
      {"[[models]]\nname = 'a'\npath = 'a'\nmemory.max_rows = 600", kBadConfig,
       "f:4: models: memory.max_rows = 600: must be at most 512"},
      {"[[models]]\nname = 'a'\npath = 'a'\nrows = 3", kUnknownConfigKey,
       "f:4: models: rows: no key"},
      {"[[models]]\nname = 'a'\npath = 'a'\nserver.port = 3", kUnknownConfigKey,
       "f:4: models: server.port: no key of a model"},
      {"[[models]]\nname = 'a'\npath = 'a'\nmodel.path = 'b'", kUnknownConfigKey, "model: no key"},
      {"model.path = 'x'\n[[models]]\nname = 'a'\npath = 'a'", kBadConfig,
       "f:1: model.path: [[models]] says it of each model"},
      {"[[models]]\nname = 'a'\npath = 'a'\nspeculation.model = 'd'\n"
       "[[models]]\nname = 'b'\npath = 'b'",
       kBadConfig, "speculation.model = \"d\": a draft model is for an engine of one model"},
      {"server.model_name = 'x'\n[[models]]\nname = 'a'\npath = 'a'", kBadConfig,
       "f:1: server.model_name: [[models]]"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(parse(mistake.text), FailsWith(mistake.code, std::string(mistake.says)))
        << mistake.text;
  }
}

TEST(ModelsConfigTest, BoundsModelsNamesAndAliases) {
  std::string many;
  for (std::size_t i = 0; i <= ModelsConfig::kMaxModels; ++i) {
    many += "[[models]]\nname = 'm" + std::to_string(i) + "'\npath = 'p'\n";
  }
  EXPECT_THAT(parse(many), FailsWith(ConfigErrc::kBadConfig, "at most 64"));
  const std::string one = "[[models]]\npath = 'p'\nname = '";
  const std::string name(ModelsConfig::kMaxNameBytes, 'x');
  EXPECT_TRUE(parse(one + name + "'"));
  EXPECT_THAT(parse(one + name + "x'"), FailsWith(ConfigErrc::kBadConfig, "more than 128 bytes"));
  std::string aliases = "'x0'";
  for (std::size_t i = 1; i < ModelsConfig::kMaxAliases; ++i) {
    aliases += ", 'x" + std::to_string(i) + "'";
  }
  EXPECT_TRUE(parse(one + "m'\naliases = [" + aliases + "]"));
  EXPECT_THAT(parse(one + "m'\naliases = [" + aliases + ", 'y']"),
              FailsWith(ConfigErrc::kBadConfig, "aliases: at most 16"));
}

TEST(ModelsConfigTest, ChecksWhatAnApplicationHasMade) {
  EXPECT_THAT(ModelsConfig().validate(), FailsWith(ConfigErrc::kBadConfig, "there are 0"));
  Config config;
  config.model = "m";
  ModelsConfig all = ModelsConfig::of(config, "one");
  EXPECT_TRUE(all.validate());
  all.models.push_back(all.models.front());
  EXPECT_THAT(all.validate(), FailsWith(ConfigErrc::kBadConfig, "models[1]: name = \"one\""));
  all.models.back().name = "two";
  all.models.back().config.max_rows = -1;
  EXPECT_THAT(all.validate(), FailsWith(ConfigErrc::kBadConfig, "models[1]: memory.max_rows"));
}

TEST(ModelsConfigTest, IsPrintedSoThatItCanBeReadAgain) {
  ConfigDraft draft;
  ASSERT_TRUE(draft.read(kTwo, "f"));
  const std::string text = print_config(draft, PrintedKeys::kChanged);
  EXPECT_THAT(text, HasSubstr("aliases = [\"gpt-4o-mini\", \"tiny\"]"));
  const ModelsConfig all = ModelsConfig::parse(text, "again").value();
  ASSERT_EQ(all.models.size(), 2U);
  EXPECT_EQ(all.models[0].config.max_rows, 16);
  EXPECT_EQ(all.models[1].share, 3);
  EXPECT_EQ(all.models[1].config.memory_bytes, 1'000'000);
  EXPECT_EQ(all.models[1].config.device, "cuda:0");
  EXPECT_FALSE(all.models[1].load);
}

}  // namespace
}  // namespace weft
