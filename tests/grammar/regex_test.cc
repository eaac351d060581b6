#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/grammar/grammar_error.h"
#include "weft/tests/grammar/grammar_fixture.h"

namespace weft::grammar {
namespace {

struct RegexCase {
  std::string_view pattern;
  std::vector<std::string_view> matches;
  std::vector<std::string_view> others;
};

TEST(RegexTest, MatchesTheWholeText) {
  for (const RegexCase& one : std::vector<RegexCase>{
           {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
           {"a|b|", {"a", "b", ""}, {"ab", "c"}},
           {"(a|b)*c+", {"c", "abc", "bbacc"}, {"", "ab", "ca"}},
           {"a{2}", {"aa"}, {"a", "aaa"}},
           {"a{2,}", {"aa", "aaaaa"}, {"a", ""}},
           {"a{1,3}?b", {"ab", "aaab"}, {"b", "aaaab"}},
           {"[a-c]x[^a-c]", {"axz", "cx-"}, {"dxz", "axa"}},
           {"[]a]+", {"]a"}, {"b"}},
           {"[^]a]", {"b"}, {"]", "a", ""}},
           {"[a\\-z]", {"a", "-", "z"}, {"b"}},
           {"[\\d.]+", {"1.5"}, {"a"}},
           {".", {"a", "\xc3\xa9", "\xf0\x9f\x98\x80"}, {"\n", "", "ab", "\xc3", "\xff"}},
           {"\\.\\*\\(\\)\\[\\]\\{\\}\\\\", {".*()[]{}\\"}, {"a"}},
           {"\\x41\\u0042\\u{43}\\t", {"ABC\t"}, {"ABC"}},
           {"[\\u4e00-\\u9fff]+", {"\xe4\xb8\xad\xe6\x96\x87"}, {"a", "\xe4\xb8"}},
           {"^abc$", {"abc"}, {"ab"}},
           {"(?:a)(?P<x>b)(?<y>c)", {"abc"}, {"ab"}},
           {"\\w+\\s\\S", {"a_1 x"}, {"a-1 x"}},
           {"x{a}", {"x{a}"}, {"x"}},
           {"(|a)b", {"b", "ab"}, {"a"}},
           {"(?s:a.)b.", {"a\nbx"}, {"a\nb\n"}},
           {"(?i:a(b))c", {"ABc", "aBc"}, {"abC"}},
           {"(?si:a.)", {"A\n"}, {"b\n"}},
           {"\\ud83d\\ude00", {"\xf0\x9f\x98\x80"}, {"a"}},
           {"(0|[1-9][0-9]*)(\\.[0-9]{1,2})?", {"0", "10.5", "7.25"}, {"01", "1.", ".5"}}}) {
    Error error;
    const auto grammar = regex_grammar(one.pattern, &error);
    ASSERT_NE(grammar, nullptr) << one.pattern << ": " << to_string(error);
    for (const auto text : one.matches)
      EXPECT_TRUE(accepts(*grammar, text)) << one.pattern << " " << text;
    for (const auto text : one.others)
      EXPECT_FALSE(accepts(*grammar, text)) << one.pattern << " " << text;
  }
}

TEST(RegexTest, RefusesWhatIsWrongOrNotRegular) {
  for (const std::string_view pattern :
       {"(",           ")",     "a)",      "(a",     "[",          "[a",          "[b-a]",
        "*",           "a**",   "a{2}{3}", "a{3,2}", "a{1000001}", "\\",          "\\1",
        "\\bfoo",      "a^b",   "a$b",     "(?=a)",  "(?!a)",      "(?<=a)",      "(?<!a)",
        "(?i)a",       "(?>a)", "\\p{L}",  "\\u12",  "\\x4",       "\\u{110000}", "\\ud800",
        "[[:alpha:]]", "a++",   "\\k<x>",  "\xff",   "[^\\s\\S]"}) {
    Error error;
    EXPECT_EQ(regex_grammar(pattern, &error), nullptr) << pattern;
    EXPECT_EQ(error.code.category(), grammar_category()) << pattern;
  }
  Error error;
  EXPECT_EQ(regex_grammar("ab(?=c)", &error), nullptr);
  EXPECT_EQ(error.detail, "lookaround is not supported at byte 3");
  EXPECT_EQ(regex_grammar(std::string(100, '(') + std::string(100, ')'), &error), nullptr);
  EXPECT_EQ(error.code, GrammarErrc::kBadRegex);
}

TEST(RegexTest, CountsWithoutBuildingWhatItCounts) {
  const auto grammar = regex_grammar("(ab){1000000}");
  ASSERT_NE(grammar, nullptr);
  EXPECT_LT(grammar->data().nodes.size(), 10U);
  const auto exactly = regex_grammar("a{3000}");
  EXPECT_TRUE(accepts(*exactly, std::string(3000, 'a')));
  EXPECT_FALSE(accepts(*exactly, std::string(2999, 'a')));
  EXPECT_FALSE(accepts(*exactly, std::string(3001, 'a')));
}

}  // namespace
}  // namespace weft::grammar
