#include "weft/text/unicode/unicode.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/tests/text/tokenizer/random_text.h"
#include "weft/text/unicode/unicode_normalization.h"

namespace weft {
namespace {

std::string normalized(std::string text, NormalizationForm form) {
  normalize_unicode(text, form);
  return text;
}

TEST(UnicodeTest, ReplacesEachMaximalPartOfABrokenCharacter) {
  EXPECT_EQ(lossy_utf8("a\xE2\x82"), "a\uFFFD");
  EXPECT_EQ(lossy_utf8("\xE2\x82z"), "\uFFFDz");
  EXPECT_EQ(lossy_utf8("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(lossy_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lossy_utf8("\xF0\x9F\x9A\xF0\x9F\x9A\x80"), "\uFFFD\U0001F680");
  EXPECT_EQ(lossy_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lossy_utf8("\x80\xFF"), "\uFFFD\uFFFD");
}

TEST(UnicodeTest, DecodesBytesTheSameHoweverTheyAreCut) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = test::random_text(random, 4);
    for (int spoil = 0; spoil < 3; ++spoil) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Utf8Decoder decoder;
    std::string text;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % 3;
      decoder.push(std::string_view(bytes).substr(at, size), text);
      EXPECT_EQ(valid_utf8_prefix(text), text.size());
      at += size;
    }
    decoder.finish(text);
    EXPECT_EQ(text, lossy_utf8(bytes));
  }
}

TEST(UnicodeTest, RecognizesValidText) {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    const std::string text = test::random_text(random, 6);
    EXPECT_EQ(valid_utf8_prefix(text), text.size());
    EXPECT_EQ(lossy_utf8(text), text);
  }
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
