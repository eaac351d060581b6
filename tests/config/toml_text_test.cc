#include "weft/config/toml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/config/config_error.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;

std::string dots(std::size_t count) {
  std::string key = "a";
  for (std::size_t i = 0; i < count; ++i) key += ".a";
  return key;
}

Result<toml::table> parse_text(std::string_view text) { return parse_toml(text, "my.toml"); }

TEST(TomlTextTest, ReadsADocumentAndKnowsItsLines) {
  const toml::table document = parse_text("a = 1\n\n[b]\nc = 'two'\n").value();
  EXPECT_EQ(document.at_path("b.c").value<std::string>(), "two");
  EXPECT_EQ(place_of(*document.at_path("b.c").node(), "my.toml"), "my.toml:4");
}

TEST(TomlTextTest, NamesTheLineOfAMistake) {
  EXPECT_THAT(parse_text("a = 1\nb = = 2"), FailsWith(ConfigErrc::kBadToml, "my.toml:2: "));
  EXPECT_THAT(parse_text("a = 1\na = 2"), FailsWith(ConfigErrc::kBadToml, "my.toml:2: "));
  EXPECT_THAT(parse_text("a = \"\xFF\""), FailsWith(ConfigErrc::kBadToml, "my.toml:1: "));
}

TEST(TomlTextTest, RefusesATextThatIsTooLarge) {
  const std::string comment = "#" + std::string(kMaxTomlBytes, ' ');
  EXPECT_TRUE(parse_text(comment.substr(1)));
  EXPECT_THAT(parse_text(comment), FailsWith(ConfigErrc::kBadToml, "my.toml: more than 1 MiB"));
}

// Freeing keys so deep would exhaust the stack.
TEST(TomlTextTest, RefusesKeysThatAreTooDeepWhereverTheyStand) {
  const std::string deep = dots(400'000);
  EXPECT_TRUE(parse_text(dots(kMaxTomlKeyDots) + " = 1"));
  for (const std::string& text :
       {dots(kMaxTomlKeyDots + 1) + " = 1", deep + " = 1", "[" + deep + "]", "[[" + deep + "]]",
        "b = { " + deep + " = 1 }", "b = 'c'\n'd' . " + deep + " = 1", "b = ''\n" + deep + " = 1",
        "b = \"\\\"\"\n" + deep + " = 1", "b = \"\"\"\n\"\\\"\"\"\"\n" + deep + " = 1",
        "b = '''\n''x'''\n" + deep + " = 1", "# it's\n" + deep + " = 1",
        "b = '\\'\n" + deep + " = 1", "b = { c = \"\"\"x\"\"\"\", " + deep + " = 1 }",
        "b = { c = '''x''''', " + deep + " = 1 }"}) {
    EXPECT_THAT(parse_text(text), FailsWith(ConfigErrc::kBadToml, "a key with more than 16 dots"))
        << text.substr(0, 40);
  }
}

TEST(TomlTextTest, SaysOnWhichLineAKeyIsTooDeep) {
  EXPECT_THAT(parse_text("# one\nb = '''\n\n'''\n" + dots(20) + " = 1"),
              FailsWith(ConfigErrc::kBadToml, "my.toml:5: a key"));
}

TEST(TomlTextTest, TakesManyDotsThatAreNotInOneKey) {
  std::string numbers = "a = [";
  for (int i = 0; i < 100; ++i) numbers += "1.5, ";
  EXPECT_TRUE(parse_text(numbers + "]"));
  EXPECT_TRUE(parse_text("a = '../../../../../../../../../../../../b' # ........................"));
  EXPECT_TRUE(parse_text("a = \"........................ \\\" ........................\""));
  EXPECT_TRUE(parse_text("a = \"\"\"\n........................\n\"\"\""));
  EXPECT_TRUE(parse_text("a.b.c.d.e.f.g = 1\na.b.c.d.e.f.h = 1\na.b.c.d.e.f.i = 1"));
}

}  // namespace
}  // namespace weft
