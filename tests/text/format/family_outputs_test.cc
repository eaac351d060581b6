#include "weft/tests/text/format/family_outputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/doc_page.h"
#include "weft/tests/text/format/parse_output.h"
#include "weft/tests/text/json_data.h"

namespace weft::test {
namespace {

using Pieces = std::vector<std::string>;

std::shared_ptr<const ToolSchemas> offered() {
  return test_tools({{"get_weather", {{"city", "string"}, {"days", "integer"}}},
                     {"now", {}},
                     {"run", {{"code", "string"}, {"args", "array"}}}});
}

Pieces parse(const FamilyOutput& one, const std::vector<std::string_view>& parts) {
  return parse_parts(find_output_format(one.evidence),
                     {.tools = offered(), .in_thought = one.in_thought}, parts);
}

/// Cuts an output behind each of its characters, and into all of them.
std::vector<std::vector<std::string_view>> cuts_of(std::string_view output) {
  std::vector<std::vector<std::string_view>> cuts;
  std::vector<std::string_view> characters;
  std::size_t begin = 0;
  for (std::size_t at = 1; at <= output.size(); ++at) {
    if (at < output.size() && is_continuation_byte(output[at])) continue;
    characters.push_back(output.substr(begin, at - begin));
    begin = at;
    cuts.push_back({output.substr(0, at), output.substr(at)});
  }
  cuts.push_back(characters);
  return cuts;
}

/// The pieces of some kinds alone.
Pieces only(const Pieces& pieces, bool thoughts) {
  Pieces some;
  for (const std::string& piece : pieces) {
    if (piece.starts_with("text|")) continue;
    if (piece.starts_with("think|") == thoughts) some.push_back(piece);
  }
  return some;
}

/// Returns how a family's thoughts or calls were shown: "whole, streamed", or "none" where the
/// family has none.
std::string shown(const FamilyOutput& one, bool thoughts) {
  const Pieces expected = only(one.pieces, thoughts);
  if (expected.empty()) return "none";
  std::string cell = only(parse(one, {one.output}), thoughts) == expected ? "whole" : "not read";
  bool streams = true;
  for (const auto& parts : cuts_of(one.output)) {
    streams = streams && only(parse(one, parts), thoughts) == expected;
  }
  if (streams) cell += ", streamed";
  return cell;
}

TEST(FamilyOutputsTest, WhatEachFamilyWritesBecomesItsPiecesAtEveryCut) {
  for (const FamilyOutput& one : family_outputs()) {
    EXPECT_EQ(parse(one, {one.output}), one.pieces) << one.family;
    for (const auto& parts : cuts_of(one.output)) {
      ASSERT_EQ(parse(one, parts), one.pieces)
          << one.family << ", " << parts.size() << " parts, the first of " << parts[0].size();
    }
  }
}

TEST(FamilyOutputsTest, APublishedTemplateOfTheFamilyTellsTheSameFormat) {
  const std::filesystem::path folder = shared_data() / "templates";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int published = 0;
  for (const FamilyOutput& one : family_outputs()) {
    if (one.published.empty()) continue;
    const auto text = read_text_file(folder / (one.published + ".jinja"), std::size_t{1} << 20);
    ASSERT_TRUE(text) << one.published;
    EXPECT_EQ(find_output_format(*text).name, find_output_format(one.evidence).name) << one.family;
    ++published;
  }
  EXPECT_GE(published, 14);
}

// At any cut, a client sees the text, thoughts and arguments of the output so far, and nothing of a
// tag.
TEST(FamilyOutputsTest, AnOutputThatIsCutAnywhereShowsNoTagAndLosesNoText) {
  for (const FamilyOutput& one : family_outputs()) {
    const OutputFormat format = find_output_format(one.evidence);
    const std::string_view open = format.calls.open;
    // Calls that begin with words, or without a tag, look like text so far.
    if (!format.harmony && !open.starts_with('<') && !open.starts_with('[')) continue;
    for (std::size_t size = 0; size < one.output.size(); ++size) {
      if (is_continuation_byte(one.output[size])) continue;
      const Pieces pieces =
          parse_parts(format, {.tools = offered(), .in_thought = one.in_thought},
                      {std::string_view(one.output).substr(0, size)}, /*cut=*/true);
      ASSERT_LE(pieces.size(), one.pieces.size()) << one.family << ", " << size << " bytes";
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::string_view whole = one.pieces[i];
        std::string_view last = pieces[i];
        while (last.ends_with('\n') || last.ends_with(' ')) last.remove_suffix(1);
        const bool is_part = i + 1 == pieces.size() ? whole.starts_with(last) : whole == last;
        const bool is_single = last.ends_with('<') || last.ends_with('[') || last == "text|";
        ASSERT_TRUE(is_part || is_single)
            << one.family << ", " << size << " bytes: " << last << " instead of " << whole;
      }
    }
  }
}

TEST(FamilyOutputsTest, ThePageHasTheTableOfTheseRuns) {
  std::string table = "| family | format | thoughts | calls |\n| --- | --- | --- | --- |\n";
  for (const FamilyOutput& one : family_outputs()) {
    const std::string format = find_output_format(one.evidence).name;
    table += "| " + one.family + " | " + (format.empty() ? "none" : "`" + format + "`") + " | " +
             shown(one, /*thoughts=*/true) + " | " + shown(one, /*thoughts=*/false) + " |\n";
  }
  EXPECT_NE(doc_page("tools.md").find(table), std::string::npos) << "docs/tools.md has to say:\n"
                                                                 << table;
}

}  // namespace
}  // namespace weft::test
