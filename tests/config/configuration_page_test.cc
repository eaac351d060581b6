#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"
#include "weft/config/keys/config_schema.h"
#include "weft/tests/fixture/doc_page.h"

namespace weft {
namespace {

using test::plain_cell;

std::string page() { return test::doc_page("configuration.md"); }

struct Row {
  std::string standard;
  std::string range;
  std::string meaning;
};

/// Returns the keys that the page lists: under each heading "### `table`" the rows that begin "|
/// `key` |".
std::map<std::string, Row> documented() {
  std::map<std::string, Row> keys;
  for (const test::DocRow& row : test::doc_rows(page())) {
    if (!row.heading.starts_with("### `")) continue;
    EXPECT_EQ(row.cells.size(), 4U) << row.cells.front();
    const std::string path =
        plain_cell(row.heading.substr(3)) + "." + plain_cell(row.cells.front());
    EXPECT_FALSE(keys.contains(path)) << path << " is listed twice";
    keys[path] = {plain_cell(row.cells.at(1)), plain_cell(row.cells.at(2)),
                  plain_cell(row.cells.at(3))};
  }
  return keys;
}

TEST(ConfigurationPageTest, ExplainsEveryKeyAndNoOther) {
  const std::map<std::string, Row> rows = documented();
  for (const ConfigKey& key : config_schema()) {
    const auto row = rows.find(key.path());
    ASSERT_NE(row, rows.end()) << "no line on " << key.path();
    EXPECT_EQ(row->second.standard, value_of(key.setting, FileConfig())) << key.path();
    EXPECT_EQ(row->second.range, range_of(key.setting)) << key.path();
    EXPECT_EQ(row->second.meaning, std::string(key.what) + ". " + std::string(key.why))
        << key.path();
  }
  EXPECT_EQ(rows.size(), config_schema().size());
}

TEST(ConfigurationPageTest, ShowsExamplesThatWork) {
  int found = 0;
  for (const std::string& example : test::toml_blocks(page())) {
    if (example.starts_with("[[key]]")) continue;  // net's, which has its own test of it
    const Result<Config> config = Config::parse(example, "page");
    EXPECT_FALSE(config.has_error()) << to_string(config.error());
    ++found;
  }
  EXPECT_EQ(found, 4);
}

// The messages that the page shows are the real ones.
TEST(ConfigurationPageTest, ShowsTheErrorsThatCome) {
  for (const char* text : {"\n[memory]\nmax_row = 4", "\n[memory]\npage_tokens = 0",
                           "\n[server]\ntls_key = 'weft.key'"}) {
    const Result<Config> config = Config::parse(text, "weft.toml");
    ASSERT_TRUE(config.has_error());
    EXPECT_THAT(page(), testing::HasSubstr("`" + to_string(config.error()) + "`"));
  }
}

}  // namespace
}  // namespace weft
