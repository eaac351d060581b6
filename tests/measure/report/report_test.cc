#include "weft/measure/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "weft/measure/server/visible_text.h"
#include "weft/tests/measure/report/well_formed.h"

namespace weft::measure {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostileText = "<b>\"&'\x1B[2J\n\xC3</title>";
constexpr const char* kEscaped = "&lt;b&gt;&quot;&amp;&#39;\uFFFD[2J \uFFFD&lt;/title&gt;";

Report sample() {
  Report report{.title = "A load", .summary = "What came of it."};
  report.facts = {{"Model", "tiny"}, {"Seed", "1"}};
  report.tables = {{.title = "Latency",
                    .columns = {"Policy", "p50, ms", "p99, ms"},
                    .rows = {{"fusion", "1.00", "12.5"}, {"w", "100", "9.00"}},
                    .note = "A note."}};
  report.figures = {{.title = "A figure",
                     .caption = "What is in it.",
                     .x = {"Rate [1/s]", true},
                     .y = {"Latency [ms]"},
                     .series = {{.name = "fusion", .points = {{1, 2}, {2, 3}}},
                                {.name = "fusion",
                                 .style = Series::Style::kBars,
                                 .points = {{1, std::nan("")}, {2, 4}},
                                 .of_paper = true}}}};
  report.findings = {"It held.", "It did not."};
  report.data = json::object{{"rate", 1.5}, {"nothing", json::array{std::nan(""), HUGE_VAL, 2}}};
  return report;
}

Report hostile() {
  Report report{.title = kHostileText, .summary = kHostileText};
  report.facts = {{kHostileText, kHostileText}};
  report.tables = {{.title = kHostileText,
                    .columns = {kHostileText},
                    .rows = {{kHostileText}},
                    .note = kHostileText}};
  report.figures = {{.title = kHostileText,
                     .caption = kHostileText,
                     .x = {kHostileText},
                     .y = {kHostileText},
                     .series = {{.name = kHostileText, .points = {{1, 2}}}}}};
  report.findings = {kHostileText};
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ReportNumberTest, ThreeDigitsAndNoExponentWhereNoneIsNeeded) {
  const std::vector<std::pair<double, const char*>> cases = {{0, "0"},
                                                             {-0.0, "0"},
                                                             {1, "1"},
                                                             {32, "32"},
                                                             {0.5, "0.500"},
                                                             {12.345, "12.3"},
                                                             {99.96, "100"},
                                                             {999.9, "1000"},
                                                             {1234.5, "1230"},
                                                             {-2.5, "-2.50"},
                                                             {0.001, "0.00100"},
                                                             {0.00099996, "0.00100"},
                                                             {0.0005, "5.00e-4"},
                                                             {123456, "123456"},
                                                             {2048, "2048"},
                                                             {999'999, "999999"},
                                                             {123'456.7, "123000"},
                                                             {999'999.5, "1.00e6"},
                                                             {1e6, "1.00e6"},
                                                             {2.5e9, "2.50e9"},
                                                             {1e-300, "1.00e-300"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(number(value), text) << value;
  EXPECT_EQ(number(std::nan("")), "n/a");
  EXPECT_EQ(number(HUGE_VAL), "inf");
  EXPECT_EQ(number(-HUGE_VAL), "-inf");
}

TEST(ReportTextTest, ItIsWrittenAsTablesThatStandInColumns) {
  EXPECT_EQ(to_text(sample()),
            "A load\n"
            "What came of it.\n"
            "\n"
            "Model  tiny\n"
            "Seed   1\n"
            "\n"
            "Latency\n"
            "Policy  p50, ms  p99, ms\n"
            "------  -------  -------\n"
            "fusion     1.00     12.5\n"
            "w           100     9.00\n"
            "A note.\n"
            "\n"
            "- It held.\n"
            "- It did not.\n");
}

TEST(ReportTextTest, ColumnsCountCharactersAsATerminalShowsThem) {
  Report report = sample();
  report.tables.front().rows = {{"\u00fcber", "1"}, {"\u6f22\u5b57", "22"}, {"plain", "333"}};
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("\n\u00fcber          1\n"));
  EXPECT_THAT(text, HasSubstr("\n\u6f22\u5b57         22\n"));
  EXPECT_THAT(text, HasSubstr("\nplain       333\n"));
}

TEST(ReportTextTest, LongSentencesAreBrokenWithinAHundredColumns) {
  std::string sentence;
  for (int i = 0; i < 60; ++i) sentence += "word ";
  Report report = sample();
  report.summary = sentence;
  report.facts.emplace_back("Load", sentence);
  report.findings.push_back(sentence);
  const auto lines = lines_of(to_text(report));
  for (const std::string& line : lines) EXPECT_LE(columns_of(line), 100U) << line;
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("       word word")));
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("  word word")));
}

TEST(ReportTextTest, ControlCharactersOfBothSetsAreReplaced) {
  EXPECT_EQ(visible("a\x1B\x7F\xC2\x9B z\r\n\t\xEF\xBF\xBF\xC3\xBC"),
            "a\uFFFD\uFFFD\uFFFD z   \uFFFD\u00fc");
}

TEST(ReportTextTest, NoNameMovesATerminalsCursor) {
  for (const char letter : to_text(hostile())) {
    EXPECT_TRUE(letter == '\n' || static_cast<unsigned char>(letter) >= 0x20);
  }
}

TEST(ReportJsonTest, ProgramsFindEverything) {
  EXPECT_EQ(
      json::serialize(to_json(sample())),
      R"({"title":"A load","summary":"What came of it.","facts":{"Model":"tiny","Seed":"1"},)"
      R"("tables":[{"title":"Latency","columns":["Policy","p50, ms","p99, ms"],)"
      R"("rows":[["fusion","1.00","12.5"],["w","100","9.00"]],"note":"A note."}],)"
      R"("figures":[{"title":"A figure","caption":"What is in it.",)"
      R"("x":{"title":"Rate [1/s]","logarithmic":true},)"
      R"("y":{"title":"Latency [ms]","logarithmic":false},)"
      R"("series":[{"name":"fusion","style":"line","of_paper":false,"points":[[1E0,2E0],[2E0,3E0]]},)"
      R"({"name":"fusion","style":"bars","of_paper":true,"points":[[2E0,4E0]]}]}],)"
      R"("findings":["It held.","It did not."],)"
      R"("data":{"rate":1.5E0,"nothing":[null,null,2]}})");
}

TEST(ReportJsonTest, BrokenTextIsMendedAndTheRestKept) {
  const json::value value = to_json(hostile());
  EXPECT_EQ(value.at("title").as_string(), "<b>\"&'\x1B[2J\n\uFFFD</title>");
  EXPECT_EQ(value.at("facts").as_object().begin()->key(), "<b>\"&'\x1B[2J\n\uFFFD</title>");
}

TEST(ReportPageTest, ThePageIsWellFormedAndHasEverything) {
  const std::string html = to_html(sample());
  EXPECT_THAT(html, IsWellFormed());
  for (const char* part :
       {"<title>A load</title>", "<h1>A load</h1>", "<p>What came of it.</p>",
        "<dt>Model</dt><dd>tiny</dd>", "<th scope=\"row\">fusion</th><td>1.00</td><td>12.5</td>",
        "A note.", "<h3>A figure</h3>", "<figcaption>What is in it.</figcaption>", "fusion (paper)",
        "<li>It held.</li>"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(ReportPageTest, NothingRunsAndNothingIsFetched) {
  const std::string html = to_html(sample());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  // All that a url() names is a hatching of the same chart, and the only address is SVG's
  // namespace.
  EXPECT_EQ(count_of("url(", html), count_of("url(#", html));
  EXPECT_EQ(count_of("http://", html), count_of("http://www.w3.org/2000/svg", html));
}

TEST(ReportPageTest, LightAndDarkAndPaperAndPhonesAreThoughtOf) {
  const std::string html = to_html(sample());
  for (const char* part :
       {"prefers-color-scheme:dark", "@media print", "max-width:34rem", "class=\"wide\"",
        "class=\"narrow\"", "width=device-width", "min-width:60rem"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(ReportPageTest, EveryTextIsEscaped) {
  const std::string html = to_html(hostile());
  EXPECT_THAT(html, IsWellFormed());
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  for (const std::string before : {"<title>", "<h1>", "<p>", "<dt>", "<dd>", "<h3>", "<figcaption>",
                                   "<li>", "scope=\"col\">", "scope=\"row\">", "aria-label=\""}) {
    EXPECT_THAT(html, HasSubstr(before + kEscaped));
  }
}

TEST(ReportPageTest, AFiguresValuesStandBesideItWhereTheyCanBeRead) {
  Report report = sample();
  EXPECT_THAT(to_html(report),
              HasSubstr("<th scope=\"row\">fusion (paper)</th><td>2</td><td>4</td>"));
  report.figures.front().series.front().points.assign(1000, {1, 2});
  EXPECT_THAT(to_html(report), Not(HasSubstr("<details>")));
}

TEST(ReportPageTest, AnEmptyReportIsAPage) {
  const std::string html = to_html({.title = "Nothing"});
  EXPECT_THAT(html, IsWellFormed());
  EXPECT_THAT(html, Not(HasSubstr("<h2>")));
  EXPECT_EQ(to_text({.title = "Nothing"}), "Nothing\n");
}

TEST(WellFormedTest, TheCheckFindsWhatIsWrong) {
  for (const char* wrong : {"<a>", "</a>", "<a></b>", "<a b></a>", "<a b=\"1\" b=\"2\"/>", "a & b",
                            "<a b=\"<\"/>", "<a b=c/>", "<a id=\"x\"/><b id=\"x\"/>", "&nbsp;"}) {
    EXPECT_THAT(wrong, Not(IsWellFormed()));
  }
  EXPECT_THAT("<!doctype html><a b=\"1\"><c/>&amp;</a>", IsWellFormed());
}

}  // namespace
}  // namespace weft::measure
