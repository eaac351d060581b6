#include "weft/text/unicode/unicode.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/text/unicode/unicode_normalization.h"

namespace weft {
namespace {

std::string normalized(std::string text, NormalizationForm form) {
  normalize_unicode(text, form);
  return text;
}

std::string cased(char32_t code, void (*append)(std::string& out, char32_t code)) {
  std::string text;
  append(text, code);
  return text;
}

TEST(UnicodeTest, ClassesAreThoseOfTheGeneralCategory) {
  EXPECT_TRUE(is_letter(U'\u6F22') && is_letter(U'\u01C5') && !is_letter(U'\u0301'));
  EXPECT_TRUE(is_number(U'\u00BD') && is_number(U'\u2167') && !is_number(U'a'));
  EXPECT_TRUE(is_decimal_digit(U'\u0661') && !is_decimal_digit(U'\u00BD'));
  EXPECT_TRUE(is_mark(U'\u0301') && is_nonspacing_mark(U'\u0301') && !is_enclosing_mark(U'\u0301'));
  EXPECT_TRUE(is_mark(U'\u20DD') && is_enclosing_mark(U'\u20DD') && !is_nonspacing_mark(U'\u20DD'));
  EXPECT_TRUE(is_connector(U'_') && is_punctuation(U'_') && !is_connector(U'-'));
  EXPECT_TRUE(is_separator(U' ') && is_separator(U'\u2028') && !is_separator(U'\n'));
  EXPECT_TRUE(is_control(U'\n') && is_control(U'\uE000') && !is_control(U'\u0378'));
  EXPECT_TRUE(is_assigned(U'a') && !is_assigned(U'\u0378'));
}

TEST(UnicodeTest, TitleCaseIsNeitherUpperNorLower) {
  EXPECT_TRUE(is_upper_case(U'\u01C4') && !is_lower_case(U'\u01C4'));
  EXPECT_TRUE(is_title_case(U'\u01C5') && !is_upper_case(U'\u01C5') && !is_lower_case(U'\u01C5'));
  EXPECT_TRUE(is_lower_case(U'\u01C6') && !is_upper_case(U'\u01C6'));
}

TEST(UnicodeTest, ACaseMayBeSeveralCodePoints) {
  EXPECT_EQ(cased(U'\u00DF', append_upper_case), "SS");
  EXPECT_EQ(cased(U'\u00DF', append_title_case), "Ss");
  EXPECT_EQ(cased(U'\u0130', append_lower_case), "i\u0307");
  EXPECT_EQ(cased(U'\uFB03', append_upper_case), "FFI");
  EXPECT_EQ(cased(U'\u01C6', append_title_case), "\u01C5");
  EXPECT_EQ(cased(U'\u0416', append_lower_case), "\u0436");
  EXPECT_EQ(cased(U'Z', append_lower_case), "z");
}

TEST(UnicodeTest, BringsTextIntoEachForm) {
  EXPECT_EQ(normalized("e\u0301", {.compose = true}), "\u00E9");
  EXPECT_EQ(normalized("\u00E9", {.compose = false}), "e\u0301");
  EXPECT_EQ(normalized("\uFB01", {.compose = true, .compatibility = true}), "fi");
  EXPECT_EQ(normalized("\uD55C", {.compose = false}), "\u1112\u1161\u11AB");
  EXPECT_EQ(normalized("a\u0308\u0323", {.compose = false}), "a\u0323\u0308");
}

TEST(UnicodeTest, GoesFromEachFormToTheOthersBetweenAsciiAndMarks) {
  const std::vector<std::string> parts = {
      "e",      "a b",    "x1",     "\u0301", "\u0323", "\u0308", "\u00E9", "\u1E69", "\u212B",
      "\uFB01", "\u1100", "\u1161", "\u11A8", "\uAC00", "\u0928", "\u093C", "\u0958", "="};
  std::mt19937 random(8);
  for (const bool compatibility : {false, true}) {
    const NormalizationForm whole{.compose = true, .compatibility = compatibility};
    const NormalizationForm apart{.compose = false, .compatibility = compatibility};
    for (int round = 0; round < 2000; ++round) {
      std::string text;
      for (auto left = 1 + random() % 12; left > 0; --left) text += parts[random() % parts.size()];
      const std::string composed = normalized(text, whole);
      const std::string decomposed = normalized(text, apart);
      EXPECT_EQ(normalized(composed, whole), composed) << text;
      EXPECT_EQ(normalized(decomposed, apart), decomposed) << text;
      EXPECT_EQ(normalized(decomposed, whole), composed) << text;
      EXPECT_EQ(normalized(composed, apart), decomposed) << text;
    }
  }
}

TEST(UnicodeTest, OrdersLongRunsOfMarksWithoutRescans) {
  std::string marks = "a";
  std::string wanted = "a";
  for (int i = 0; i < 200'000; ++i) marks += i % 2 == 0 ? "\u0308" : "\u0323";
  for (int i = 0; i < 100'000; ++i) wanted += "\u0323";
  for (int i = 0; i < 100'000; ++i) wanted += "\u0308";
  EXPECT_EQ(normalized(marks, {.compose = false}), wanted);
}

}  // namespace
}  // namespace weft
