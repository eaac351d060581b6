#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "weft/tests/fixture/source_path.h"
#include "weft/text/chat/chat_template.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

const std::string templates_folder = test::source_path("tests/text/data/templates/");
/// 2026-07-04 05:06:07, as in make_expected.py.
constexpr std::chrono::local_seconds kLanguageNow{std::chrono::seconds(1'783'141'567)};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "error: " and "parse" or "render", or the text.
std::string outcome(const std::string& source, const json::object& variables) {
  const auto parsed = ChatTemplate::parse(source, "snippet");
  if (!parsed) {
    EXPECT_EQ(parsed.error().code, TextErrc::kBadTemplate) << to_string(parsed.error());
    return "error: parse";
  }
  const auto text = parsed->render(variables, kLanguageNow);
  if (text) return "text: " + *text;
  EXPECT_EQ(text.error().code, TextErrc::kTemplateFailed) << to_string(text.error());
  EXPECT_TRUE(text.error().detail.starts_with("snippet:")) << text.error().detail;
  return "error: render";
}

std::string expectation(const json::object& row) {
  if (const json::value* error = row.if_contains("error")) {
    return "error: " + json::value_to<std::string>(*error);
  }
  return "text: " + json::value_to<std::string>(row.at("output"));
}

TEST(JinjaLanguageTest, DoesWhatPythonsJinjaDoes) {
  const json::value all = json::parse(read(templates_folder + "language.json"));
  const json::object& context = all.at("context").as_object();
  const json::array& snippets = all.at("snippets").as_array();
  ASSERT_GT(snippets.size(), 700U);
  for (const json::value& snippet : snippets) {
    const json::object& row = snippet.as_object();
    const auto source = json::value_to<std::string>(row.at("template"));
    EXPECT_EQ(outcome(source, context), expectation(row)) << source;
  }
}

TEST(JinjaLanguageTest, HasTheOraclesPythonWhereItIsInstalled) {
  if (std::system("python3 -c 'import jinja2' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3 with jinja2 is not installed";
  }
  const std::string command =
      std::string("python3 -B ") + templates_folder + "make_expected.py language --check";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace weft
