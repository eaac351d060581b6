#include "weft/text/tokenizer/split/split_scanner.h"

#include <gtest/gtest.h>

#include "weft/tests/text/tokenizer/random_text.h"
#include "weft/text/tokenizer/split/regex.h"

namespace weft {
namespace {

using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

Ranges by_regex(const Regex& regex, std::string_view text) {
  Ranges ranges;
  EXPECT_TRUE(regex.for_each_match(
      text, [&](TextRange range) { ranges.emplace_back(range.begin, range.end); }));
  return ranges;
}

Ranges by_scanner(const SplitScanner& scanner, std::string_view text) {
  std::vector<TextRange> found;
  scanner.split(text, 0, found);
  Ranges ranges;
  for (const TextRange& range : found) ranges.emplace_back(range.begin, range.end);
  return ranges;
}

TEST(SplitScannerTest, SplitsEveryTextAsItsPatternDoes) {
  for (const std::string_view pattern : SplitScanner::patterns()) {
    const auto scanner = SplitScanner::find(pattern);
    ASSERT_TRUE(scanner) << pattern;
    const Result<Regex> regex = Regex::compile(pattern);
    ASSERT_TRUE(regex) << pattern;
    std::mt19937 random(23);
    for (int round = 0; round < 3000; ++round) {
      const std::string text = test::random_text(random, 1 + round % 12);
      ASSERT_EQ(by_scanner(*scanner, text), by_regex(*regex, text)) << pattern << "\n" << text;
    }
  }
}

TEST(SplitScannerTest, CoversAllWhereItSaysSo) {
  for (const std::string_view pattern : SplitScanner::patterns()) {
    const auto scanner = SplitScanner::find(pattern);
    if (!scanner->covers_all()) continue;
    std::mt19937 random(29);
    for (int round = 0; round < 500; ++round) {
      const std::string text = test::random_text(random, 8);
      std::size_t at = 0;
      for (const auto& [begin, end] : by_scanner(*scanner, text)) {
        ASSERT_EQ(begin, at) << pattern << "\n" << text;
        at = end;
      }
      ASSERT_EQ(at, text.size());
    }
  }
}

TEST(SplitScannerTest, KnowsNothingOfOtherPatterns) {
  EXPECT_FALSE(SplitScanner::find("\\p{N}{1,4}"));
  EXPECT_FALSE(SplitScanner::find(""));
}

}  // namespace
}  // namespace weft
