#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"
#include "weft/config/keys/config_schema.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

std::string page() {
  return read_text_file(test::source_path("docs/configuration.md"), std::size_t{1} << 20).value();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Returns a cell without the spaces around it, the backticks and the targets of links.
std::string plain(std::string cell) {
  for (std::size_t at = 0; (at = cell.find("](", at)) != std::string::npos;) {
    cell.erase(at, cell.find(')', at) + 1 - at);
    cell.erase(cell.rfind('[', at), 1);
  }
  std::erase(cell, '`');
  const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
  return cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin);
}

struct Row {
  std::string standard;
  std::string range;
  std::string meaning;
};

/// Returns the keys that the page lists: under each heading "### `table`" the rows that begin "|
/// `key` |".
std::map<std::string, Row> documented() {
  std::map<std::string, Row> keys;
  std::string table;
  for (const std::string& line : split(page(), '\n')) {
    if (line.starts_with("#")) table = line.starts_with("### `") ? plain(line.substr(4)) : "";
    if (table.empty() || !line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split(line, '|');
    EXPECT_EQ(cells.size(), 6U) << line;
    const std::string path = table + "." + plain(cells.at(1));
    EXPECT_FALSE(keys.contains(path)) << path << " is listed twice";
    keys[path] = {plain(cells.at(2)), plain(cells.at(3)), plain(cells.at(4))};
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
  constexpr std::string_view kOpen = "```toml\n";
  const std::string text = page();
  int found = 0;
  for (std::size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    const std::string example = text.substr(at, text.find("```", at) - at);
    if (example.starts_with("[[key]]")) continue;  // net's, which has its own test of it
    const Result<Config> config = Config::parse(example, "page");
    EXPECT_FALSE(config.has_error()) << to_string(config.error());
    ++found;
  }
  EXPECT_EQ(found, 3);
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
