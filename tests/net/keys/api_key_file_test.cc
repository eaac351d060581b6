#include "weft/net/keys/api_key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "weft/config/config_error.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/doc_page.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::FailsWith;

// The hash of "abc" according to FIPS 180-2, appendix B.1.
constexpr const char* kHashOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

Result<std::vector<KeyFileEntry>> parse(std::string_view text) {
  return parse_key_file(text, "keys.toml");
}

void refused(std::string_view text, const std::string& detail,
             ConfigErrc code = ConfigErrc::kBadConfig) {
  EXPECT_THAT(parse(text), FailsWith(code, detail)) << text;
}

TEST(ApiKeyFileTest, ReadsKeysWithTheirLimits) {
  const auto entries = parse(std::string(R"(
    [[key]]
    name = "one"
    key = "sesame"
    [[key]]
    name = "two"
    sha256 = ")") + kHashOfAbc +
                             R"("
    class = "batch"
    max_concurrent = 8
    tokens_per_minute = 100000
    admin = true
  )")
                           .value();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "one");
  EXPECT_EQ(entries[0].key, "sesame");
  EXPECT_FALSE(entries[0].sha256);
  EXPECT_EQ(entries[0].limits.class_ceiling, RequestClass::kChat);
  EXPECT_EQ(entries[0].limits.max_concurrent, 0);
  EXPECT_EQ(entries[0].limits.tokens_per_minute, 0);
  EXPECT_EQ(entries[1].key, "");
  EXPECT_EQ(entries[1].sha256->front(), 0xBA);
  EXPECT_EQ(entries[1].sha256->back(), 0xAD);
  EXPECT_EQ(entries[1].limits.class_ceiling, RequestClass::kBatch);
  EXPECT_EQ(entries[1].limits.max_concurrent, 8);
  EXPECT_EQ(entries[1].limits.tokens_per_minute, 100'000);
  EXPECT_FALSE(entries[0].limits.admin) << "a key is no admin's unless it says so";
  EXPECT_TRUE(entries[1].limits.admin);
}

TEST(ApiKeyFileTest, TakesHashesInCapitals) {
  std::string text = std::string("[[key]]\nname = 'a'\nsha256 = '") + kHashOfAbc + "'";
  const auto lower = parse(text).value();
  const std::size_t hash = text.find(kHashOfAbc);
  for (std::size_t i = hash; i < hash + 64; ++i) {
    if (text[i] >= 'a') text[i] = static_cast<char>(text[i] - 'a' + 'A');
  }
  EXPECT_EQ(parse(text).value().front().sha256, lower.front().sha256);
}

TEST(ApiKeyFileTest, RefusesAKeyThatIsNotWholeAndSaysWhere) {
  refused("\n[[key]]\nkey = 'a'", "keys.toml:2: a key needs a name");
  refused("\n[[key]]\nname = 'a'", "keys.toml:2: a key needs either key or sha256");
  refused(std::string("[[key]]\nname = 'a'\nkey = 'a'\nsha256 = '") + kHashOfAbc + "'",
          "keys.toml:1: a key needs either key or sha256");
  refused("[[key]]\nname = 'a'\nkey = 'a'\n[[key]]\nname = 'a'\nkey = 'b'",
          "keys.toml:4: there are two keys called a");
}

TEST(ApiKeyFileTest, RefusesAFieldThatWillNotDoAndSaysWhere) {
  const auto refused_field = [](const std::string& field, const std::string& detail) {
    refused("[[key]]\nname = 'a'\nkey = 'a'\n" + field, "keys.toml:4: " + detail);
  };
  refused("[[key]]\nname = ''", "keys.toml:2: name must be a text that is not empty");
  refused("[[key]]\nkey = 5", "keys.toml:2: key must be a text that is not empty");
  refused("[[key]]\nsha256 = 'abc'", "keys.toml:2: sha256 must be 64 hexadecimal digits");
  refused("[[key]]\nsha256 = '" + std::string(63, '0') + "g'",
          "keys.toml:2: sha256 must be 64 hexadecimal digits");
  refused_field("class = 'fast'", "class must be \"chat\" or \"batch\"");
  refused_field("max_concurrent = -1", "max_concurrent must be a whole number in 0 .. 2147483647");
  refused_field("max_concurrent = 2147483648", "max_concurrent must be");
  refused_field("max_concurrent = '1'", "max_concurrent must be");
  refused_field("tokens_per_minute = 1.5",
                "tokens_per_minute must be a whole number in 0 .. 1125899906842624");
  refused("[[key]]\nname = 'a'\nkey = 'a'\nkees = 1", "keys.toml:4: there is no field kees",
          ConfigErrc::kUnknownConfigKey);
}

TEST(ApiKeyFileTest, RefusesAFileWithoutKeysOrWithAnythingElse) {
  refused("", "keys.toml: there is no [[key]] in it");
  const std::string only = "a key file has [[key]] tables and nothing else";
  refused("\nkeys = 1", "keys.toml:2: " + only, ConfigErrc::kUnknownConfigKey);
  refused("[key]\nname = 'a'", "keys.toml:1: " + only, ConfigErrc::kUnknownConfigKey);
  refused("key = ['a']", "keys.toml:1: " + only, ConfigErrc::kUnknownConfigKey);
  refused("key = = 1", "keys.toml:1: ", ConfigErrc::kBadToml);
}

TEST(ApiKeyFileTest, ReadsAFileAndNamesItInErrors) {
  const test::TempFolder folder;
  EXPECT_TRUE(read_key_file(folder.write("good.toml", "[[key]]\nname = 'a'\nkey = 'b'")));
  const auto bad = folder.write("bad.toml", "[[key]]");
  EXPECT_THAT(read_key_file(bad), FailsWith(ConfigErrc::kBadConfig, bad.string() + ":1: a key"));
  EXPECT_THAT(read_key_file(folder.path() / "none.toml"),
              FailsWith(FileErrc::kCannotRead, "none.toml"));
}

TEST(ApiKeyFileTest, ReadsTheExampleOfTheConfigurationsPage) {
  const auto blocks = test::toml_blocks(test::doc_page("configuration.md"));
  const auto example = std::ranges::find_if(
      blocks, [](const std::string& block) { return block.starts_with("[[key]]\nname"); });
  ASSERT_NE(example, blocks.end());
  const auto entries = parse(*example);
  EXPECT_EQ(entries.value().size(), 2U);
}

}  // namespace
}  // namespace weft
