#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "weft/core/file.h"

namespace weft {
namespace {

/// The names after "AsioCompliance." in the rows of docs/asio-compliance.md's tables; "" for a row
/// that has none.
std::multiset<std::string> documented_tests() {
  std::multiset<std::string> names;
  const std::string page =
      read_text_file(WEFT_SOURCE_DIR "/docs/asio-compliance.md", std::size_t{1} << 20).value();
  constexpr std::string_view kSuite = "`AsioCompliance.";
  bool in_tests = false;  // a table whose last column is "test"
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string_view line = std::string_view(page).substr(at, end - at);
    at = end + 1;
    if (line.ends_with(" test |")) in_tests = true;
    if (!line.starts_with("| ")) in_tests = false;
    if (!in_tests || line.ends_with(" test |") || line.starts_with("| --- ")) continue;
    const std::size_t begin = line.find(kSuite);
    if (begin == std::string_view::npos) {
      names.insert("");
      continue;
    }
    const std::string_view rest = line.substr(begin + kSuite.size());
    names.emplace(rest.substr(0, rest.find('`')));
  }
  return names;
}

TEST(AsioCompliancePage, NamesEachTestOnceAndNoOther) {
  std::multiset<std::string> tests;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    if (std::string_view(suite.name()) != "AsioCompliance") continue;
    for (int j = 0; j < suite.total_test_count(); ++j) tests.emplace(suite.GetTestInfo(j)->name());
  }
  EXPECT_FALSE(tests.empty());
  EXPECT_EQ(documented_tests(), tests);
}

}  // namespace
}  // namespace weft
