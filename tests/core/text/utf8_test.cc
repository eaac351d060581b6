#include "weft/core/text/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tests/text/tokenizer/random_text.h"

namespace weft {
namespace {

using namespace std::string_view_literals;

struct Encoding {
  char32_t code;
  std::string_view bytes;
};

/// The first and the last code point of each length, and the code points on both sides of the
/// surrogates.
constexpr auto kEdges = std::to_array<Encoding>({
    {0x00, "\x00"sv},
    {0x7F, "\x7F"},
    {0x80, "\xC2\x80"},
    {0x7FF, "\xDF\xBF"},
    {0x800, "\xE0\xA0\x80"},
    {0xD7FF, "\xED\x9F\xBF"},
    {0xE000, "\xEE\x80\x80"},
    {0xFFFD, kReplacementUtf8},
    {0xFFFF, "\xEF\xBF\xBF"},
    {0x10000, "\xF0\x90\x80\x80"},
    {0x10FFFF, "\xF4\x8F\xBF\xBF"},
});

struct Broken {
  std::string_view bytes;
  std::size_t valid;       ///< the bytes before the first that is wrong
  std::string_view lossy;  ///< the text for each maximal part
};

constexpr auto kBroken = std::to_array<Broken>({
    // Continuation bytes and bytes that begin nothing.
    {"\x80", 0, "\uFFFD"},
    {"\xBF", 0, "\uFFFD"},
    {"a\x80\xFF", 1, "a\uFFFD\uFFFD"},
    {"\xFE", 0, "\uFFFD"},
    // Overlong forms.
    {"\xC0\xAF", 0, "\uFFFD\uFFFD"},
    {"\xC1\xBF", 0, "\uFFFD\uFFFD"},
    {"\xE0\x80\xAF", 0, "\uFFFD\uFFFD\uFFFD"},
    {"\xE0\x9F\xBF", 0, "\uFFFD\uFFFD\uFFFD"},
    {"\xF0\x80\x80\xAF", 0, "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"\xF0\x8F\xBF\xBF", 0, "\uFFFD\uFFFD\uFFFD\uFFFD"},
    // Surrogates.
    {"\xED\xA0\x80", 0, "\uFFFD\uFFFD\uFFFD"},
    {"\xED\xBF\xBF", 0, "\uFFFD\uFFFD\uFFFD"},
    // Past U+10FFFF.
    {"\xF4\x90\x80\x80", 0, "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"\xF5\x80\x80\x80", 0, "\uFFFD\uFFFD\uFFFD\uFFFD"},
    // Truncated, at the end and before another code point.
    {"\xC3", 0, "\uFFFD"},
    {"a\xE2\x82", 1, "a\uFFFD"},
    {"\xE2\x82z", 0, "\uFFFDz"},
    {"\u00E9\xF0\x9F\x9A", 2, "\u00E9\uFFFD"},
    {"\xF0\x9F\x9A\xF0\x9F\x9A\x80", 0, "\uFFFD\U0001F680"},
    {"12345678\xC3", 8, "12345678\uFFFD"},
});

TEST(Utf8Test, EncodesAndDecodesTheEdgesOfEachLength) {
  for (const auto& [code, bytes] : kEdges) {
    EXPECT_EQ(to_utf8(code), bytes) << static_cast<unsigned long>(code);
    EXPECT_TRUE(is_utf8(bytes)) << static_cast<unsigned long>(code);
    EXPECT_EQ(lossy_utf8(bytes), bytes);
    EXPECT_EQ(utf8_length(static_cast<unsigned char>(bytes[0])), bytes.size());
    const std::string between = "a" + std::string(bytes) + "b";
    EXPECT_EQ(utf8_at(between, 1).code, code);
    EXPECT_EQ(utf8_at(between, 1).length, bytes.size());
    EXPECT_EQ(utf8_before(between, 1 + bytes.size()), 1U);
    EXPECT_EQ(last_utf8(bytes).code, code);
    EXPECT_EQ(count_code_points(between), 3U);
  }
}

TEST(Utf8Test, FindsWhereTextStopsBeingValid) {
  for (const auto& [bytes, valid, lossy] : kBroken) {
    EXPECT_EQ(valid_utf8_prefix(bytes), valid) << lossy;
    EXPECT_FALSE(is_utf8(bytes)) << lossy;
  }
}

TEST(Utf8Test, ReplacesEachMaximalPartOfABrokenCodePoint) {
  for (const auto& [bytes, valid, lossy] : kBroken) EXPECT_EQ(lossy_utf8(bytes), lossy);
}

TEST(Utf8Test, DecodingBrokenTextStaysInsideIt) {
  for (const auto& [bytes, valid, lossy] : kBroken) {
    const std::vector<char> exactly(bytes.begin(), bytes.end());  // the sanitizer sees its end
    const std::string_view text(exactly.data(), exactly.size());
    std::size_t at = 0;
    while (at < text.size()) at += utf8_at(text, at).length;
    EXPECT_EQ(at, text.size()) << lossy;
  }
}

TEST(Utf8Test, SurrogatesAndWhatIsPastTheLastAreNoScalarValues) {
  for (const auto& [code, bytes] : kEdges) EXPECT_TRUE(is_scalar_value(code));
  EXPECT_FALSE(is_scalar_value(0xD800));
  EXPECT_FALSE(is_scalar_value(0xDFFF));
  EXPECT_FALSE(is_scalar_value(0x110000));
  EXPECT_FALSE(is_scalar_value(0xFFFF'FFFF'FFFF'FFFF));
}

TEST(Utf8Test, CutsBetweenCodePoints) {
  const std::string text = "a\u00E9\u6F22\U0001F680";  // begin at 0, 1, 3, 6; end at 10
  const std::vector<std::size_t> sizes = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t bytes = 0; bytes < sizes.size(); ++bytes) {
    EXPECT_EQ(cut_utf8(text, bytes), text.substr(0, sizes[bytes])) << bytes;
  }
  EXPECT_EQ(cut_utf8("\x80\x80\x80", 2), "") << "which has no beginning at all";
}

TEST(Utf8Test, FindsCodePointsByNumber) {
  const std::string text = "a\u00E9\u6F22\U0001F680";
  const std::vector<std::size_t> offsets = {0, 1, 3, 6, 10, 10};
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    EXPECT_EQ(code_point_offset(text, index), offsets[index]) << index;
  }
  EXPECT_EQ(to_code_points(text), U"a\u00E9\u6F22\U0001F680");
}

TEST(Utf8Test, PartsOfACodePointCountItOnce) {
  EXPECT_EQ(count_code_points("\xE6\xBC"), 1U);
  EXPECT_EQ(count_code_points("\xA2"), 0U);
}

TEST(Utf8Test, OneByteBeyondAsciiAnywhereIsSeen) {
  for (std::size_t size = 0; size < 20; ++size) {
    std::string text(size, 'a');
    EXPECT_TRUE(is_ascii(text));
    for (char& byte : text) {
      byte = '\x80';
      EXPECT_FALSE(is_ascii(text));
      byte = 'a';
    }
  }
}

TEST(Utf8Test, DecodesBytesTheSameHoweverTheyAreCut) {
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
      EXPECT_TRUE(is_utf8(text));
      at += size;
    }
    decoder.finish(text);
    EXPECT_EQ(text, lossy_utf8(bytes));
  }
}

TEST(Utf8Test, RecognizesValidText) {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    const std::string text = test::random_text(random, 6);
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(lossy_utf8(text), text);
  }
}

}  // namespace
}  // namespace weft
