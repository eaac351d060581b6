#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// A text without white space and without the namespace of Asio, which pages write in several ways.
std::string plain(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c != ' ' && c != '\n') all += c;
  }
  for (const std::string_view name : {"boost::asio::", "asio::"}) {
    for (std::size_t at = 0; (at = all.find(name)) != std::string::npos;)
      all.erase(at, name.size());
  }
  return all;
}

std::string text_of(const fs::path& file) {
  return read_text_file(file, std::size_t{1} << 20).value();
}

/// Each `co_await ...use_awaitable)` of a page.
std::vector<std::string> forms_in(const std::string& page) {
  constexpr std::string_view kEnd = "use_awaitable)";
  std::vector<std::string> forms;
  for (std::size_t at = 0; (at = page.find("co_await ", at)) != std::string::npos; ++at) {
    const std::size_t end = page.find(kEnd, at);
    const std::size_t line_end = page.find('\n', at);
    if (end < line_end) forms.push_back(plain(page.substr(at, end + kEnd.size() - at)));
  }
  return forms;
}

TEST(DocumentedForms, AreAllCompiledAndRun) {
  const std::string run =
      plain(text_of(test::source_path("tests/actors/engine/documented_forms.cc")));
  std::vector<fs::path> pages{test::source_path("README.md")};
  for (const auto& entry : fs::directory_iterator(test::source_path("docs"))) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::size_t found = 0;
  for (const fs::path& page : pages) {
    for (const std::string& form : forms_in(text_of(page))) {
      EXPECT_THAT(run, testing::HasSubstr(form)) << page;
      ++found;
    }
  }
  EXPECT_GE(found, 6U);
}

}  // namespace
}  // namespace weft
