#include "weft/text/tokenizer/split/regex.h"

#include <gtest/gtest.h>

#include "weft/text/text_error.h"
#include "weft/text/tokenizer/split/regex_syntax.h"

namespace weft {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  const Result<Regex> regex = Regex::compile(pattern);
  EXPECT_TRUE(regex) << pattern;
  std::vector<std::string> found;
  EXPECT_TRUE(regex->for_each_match(text, [&](TextRange range) {
    found.emplace_back(text.substr(range.begin, range.end - range.begin));
  }));
  return found;
}

using Found = std::vector<std::string>;

TEST(RegexTest, KnowsSpacesWordsAndDigitsAsOnigurumaDoes) {
  // U+180E is a space to PCRE2 and none to Unicode; U+001C neither.
  EXPECT_EQ(matches("\\s", "a\u180E\u0085b\u001C"), (Found{"\u0085"}));
  EXPECT_EQ(matches("\\S+", "a\u180E b"), (Found{"a\u180E", "b"}));
  EXPECT_EQ(matches("\\w+", "e\u0301a\u203Fb-\u00B2"), (Found{"e\u0301a\u203Fb", "\u00B2"}));
  EXPECT_EQ(matches("\\W", "a-b"), (Found{"-"}));
  EXPECT_EQ(matches("[\\h]+", "beef xyz"), (Found{"beef"}));
  EXPECT_EQ(matches("\\H+", "beefxyz"), (Found{"xyz"}));
  EXPECT_EQ(matches("\\u00e9", "caf\u00E9"), (Found{"\u00E9"}));
}

TEST(RegexTest, UnderstandsClassesWithinClasses) {
  EXPECT_EQ(matches("[a-z&&[^b]]+", "abca"), (Found{"a", "ca"}));
  EXPECT_EQ(matches("[a[0-9]]+", "ba09"), (Found{"a09"}));
  EXPECT_EQ(matches("[^a-z&&[^b]]+", "xby-"), (Found{"b", "-"}));
  EXPECT_EQ(matches("[^[^ab]]+", "cabc"), (Found{"ab"}));
  EXPECT_EQ(matches("[\\]\\[]+", "a[]b"), (Found{"[]"}));
  EXPECT_EQ(matches("[]a]+", "b]a"), (Found{"]a"}));
  EXPECT_EQ(matches("[[:digit:]]+", "a12"), (Found{"12"}));
}

TEST(RegexTest, TakesLinesAndDotsAsOnigurumaDoes) {
  EXPECT_EQ(matches("^b|a$", "a\nb"), (Found{"a", "b"}));
  EXPECT_EQ(matches("a.b", "a\nb"), (Found{}));
  EXPECT_EQ(matches("a(?m:.)b", "a\nb"), (Found{"a\nb"}));
  EXPECT_EQ(matches("xa{,2}", "xaaa"), (Found{"xaa"}));
  EXPECT_EQ(matches("\\p{^Letter}", "a1"), (Found{"1"}));
}

TEST(RegexTest, LeavesEmptyMatchesOut) {
  EXPECT_EQ(matches("a*", "baab"), (Found{"aa"}));
  EXPECT_EQ(matches("(?=b)", "ab\u00E9b"), (Found{}));
}

TEST(RegexTest, RefusesWhatHasNoCounterpart) {
  for (const char* pattern : {"[\\W]", "[a[^b]]", "[a[b&&c]]", "[a", "\\u12", "\\"}) {
    const Result<std::string> translated = pcre2_pattern(pattern);
    ASSERT_FALSE(translated) << pattern;
    EXPECT_EQ(translated.error().code, TextErrc::kUnknownTokenizerPart);
  }
  EXPECT_FALSE(pcre2_pattern(std::string(10'000, '[')));
}

TEST(RegexTest, SurvivesLongRuns) {
  const std::string text(1 << 20, 'A');
  EXPECT_EQ(matches("(?:A|B)+", text).size(), 1U);
  EXPECT_EQ(matches("\\p{L}+", text).size(), 1U);
  EXPECT_EQ(matches("\\s+(?!\\S)|\\s+", std::string(1 << 20, ' ')).size(), 1U);
}

}  // namespace
}  // namespace weft
