// docs/model-families.md says which model types load, docs/gguf.md which architectures of GGUF
// files; this compares them with the built-in specs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/doc_page.h"

namespace weft {
namespace {

/// Returns the part of `text` between `open` and `close`; empty if they are missing.
std::string between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t begin = text.find(open);
  if (begin == std::string_view::npos) return "";
  const std::size_t from = begin + open.size();
  const std::size_t end = text.find(close, from);
  return end == std::string_view::npos ? "" : std::string(text.substr(from, end - from));
}

struct Page {
  std::map<std::string, std::string> spec_of;  ///< by model type; empty where none loads it
  std::map<std::string, std::string> remark_of;
};

/// The rows "| `type` | [spec](...) | remark |" of the page. Its tables may share a type, which has
/// the same spec in all of them.
Page read_page() {
  Page page;
  std::set<std::pair<std::string, std::string>> seen;
  for (const test::DocRow& row : test::doc_rows(test::doc_page("model-families.md"))) {
    const std::string type = test::plain_cell(row.cells.at(0));
    EXPECT_TRUE(seen.emplace(row.heading, type).second) << type << " stands twice in a table";
    const std::string spec = between(row.cells.at(1), "[", "](");
    EXPECT_EQ(page.spec_of.emplace(type, spec).first->second, spec) << type;
    page.remark_of[type] = test::plain_cell(row.cells.at(2));
  }
  return page;
}

/// The types that a table of the page lists, and how many of them load.
std::pair<std::size_t, std::size_t> counted(std::string_view heading) {
  std::size_t all = 0;
  std::size_t loading = 0;
  for (const test::DocRow& row : test::doc_rows(test::doc_page("model-families.md"))) {
    if (row.heading != heading) continue;
    ++all;
    if (!between(row.cells.at(1), "[", "](").empty()) ++loading;
  }
  return {all, loading};
}

TEST(ModelFamiliesPageTest, SaysHowManyTypesLoad) {
  const std::string page = test::doc_page("model-families.md");
  const auto [causal, causal_loading] = counted("## Causal models");
  EXPECT_THAT(page, testing::HasSubstr("All " + std::to_string(causal) + " types"));
  EXPECT_THAT(page, testing::HasSubstr(std::to_string(causal_loading) + " load;"));
  const auto [seeing, seeing_loading] = counted("## Models that see");
  EXPECT_THAT(page, testing::HasSubstr("All " + std::to_string(seeing) + " types"));
  EXPECT_THAT(page, testing::HasSubstr("for " + std::to_string(seeing_loading) + " of them"));
}

std::map<std::string, std::string> claimed() {
  std::map<std::string, std::string> spec_of;
  for (const Spec& spec : builtin_specs()) {
    const auto& claims = spec.tree().at("claims").as_object();
    for (const auto& type : claims.at("model_type").as_array()) {
      const std::string name(type.as_string());
      EXPECT_TRUE(spec_of.emplace(name, spec.name()).second) << name << " is claimed twice";
    }
  }
  return spec_of;
}

TEST(ModelFamiliesPageTest, NamesTheSpecOfEveryModelTypeThatLoads) {
  std::map<std::string, std::string> loading = read_page().spec_of;
  std::erase_if(loading, [](const auto& row) { return row.second.empty(); });
  EXPECT_EQ(loading, claimed());
}

TEST(ModelFamiliesPageTest, SaysWhatIsMissingWhereNoneLoads) {
  const Page page = read_page();
  std::size_t missing = 0;
  for (const auto& [type, spec] : page.spec_of) {
    if (!spec.empty()) continue;
    ++missing;
    EXPECT_NE(page.remark_of.at(type), "") << type;
  }
  EXPECT_GT(missing, 0U);
}

using SpecsOf = std::map<std::string, std::set<std::string>>;

/// The rows "| `architecture` | [spec](...), [spec](...) | remark |" of docs/gguf.md.
SpecsOf read_gguf_page() {
  SpecsOf specs_of;
  for (const test::DocRow& row : test::doc_rows(test::doc_page("gguf.md"))) {
    std::set<std::string>& specs = specs_of[test::plain_cell(row.cells.at(0))];
    const std::string& line = row.cells.at(1);
    for (std::size_t at = line.find('['); at != std::string::npos; at = line.find('[', at + 1)) {
      specs.insert(between(line.substr(at), "[", "]("));
    }
  }
  return specs_of;
}

TEST(GgufPageTest, NamesTheSpecsOfEveryArchitectureThatLoads) {
  SpecsOf wanted;
  for (const Spec& spec : builtin_specs()) {
    // A family that is only written as another's file has none.
    const auto gguf = spec.tree().find("gguf");
    if (gguf == spec.tree().end() || !gguf->value().as_object().contains("architectures")) continue;
    for (const auto& name : gguf->value().at("architectures").as_array()) {
      wanted[std::string(name.as_string())].insert(spec.name());
    }
  }
  EXPECT_EQ(read_gguf_page(), wanted);
}

}  // namespace
}  // namespace weft
