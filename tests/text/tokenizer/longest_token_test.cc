#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/text/json_data.h"
#include "weft/tests/text/tokenizer/random_text.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/unicode/unicode_normalization.h"

/// Facts about a text's tokens that follow from its size, and how encode() uses them.
namespace weft {
namespace {

namespace json = boost::json;

using test::FailsWith;
using test::read_test_data;
using test::text_of;

Tokenizer tokenizer_of(const json::value& content, std::string_view name) {
  return Tokenizer::from_json(json::serialize(content), name).value();
}

/// Byte by byte, with " the" as the longest token.
json::value bytes_tokenizer() {
  json::object vocabulary;
  std::int64_t id = 0;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string token = "<0x";
    token += kDigits[static_cast<std::size_t>(byte / 16)];
    token += kDigits[static_cast<std::size_t>(byte % 16)];
    vocabulary[token + ">"] = id++;
  }
  for (const char* token : {" ", "t", "h", "e", " t", "he", " the"}) vocabulary[token] = id++;
  json::value content = json::parse(R"({"model": {"type": "BPE", "byte_fallback": true,
    "merges": [[" ", "t"], ["h", "e"], [" t", "he"]]}})");
  content.at("model").as_object()["vocab"] = vocabulary;
  return content;
}

Tokenizer with_normalizer(const std::string& normalizer) {
  json::value content = bytes_tokenizer();
  content.as_object()["normalizer"] = json::parse(normalizer);
  return tokenizer_of(content, normalizer);
}

/// Texts that shrink most on their way to tokens.
std::vector<std::string> shrinking_texts() {
  std::vector<std::string> texts;
  for (const std::u32string_view unit :
       {U"\u212A", U"\u1FBE\u0308\u0301", U"\u1112\u1161\u11AB", U"\U0001D400", U"   ", U" the",
        U"\u0301\u0301", U"\uFEFF", U"ab", U"\u1E9E", U"\u0130", U"\n\n"}) {
    std::string text;
    for (int i = 0; i < 200; ++i) {
      for (const char32_t code : unit) append_utf8(text, code);
    }
    texts.push_back(text);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) texts.push_back(test::random_text(random, 40));
  return texts;
}

/// Expects that `tokenizer` never makes fewer tokens of a text than its size implies, and that it
/// counts them correctly.
void expect_bound_holds(const Tokenizer& tokenizer, const std::string& name) {
  for (const std::string& text : shrinking_texts()) {
    for (const bool special : {false, true}) {
      std::vector<TokenId> ids;
      EncodeOptions options{.add_special = false, .parse_special = special};
      ASSERT_TRUE(tokenizer.encode(text, options, ids)) << name;
      if (const auto longest = tokenizer.bytes_per_token(special)) {
        EXPECT_GE(ids.size() * *longest, text.size()) << name << " on " << text;
      }
      std::vector<TokenId> again = {5};
      options.max_tokens = ids.size();
      EXPECT_TRUE(tokenizer.encode(text, options, again)) << name << " on " << text;
      EXPECT_EQ(again.size(), ids.size() + 1);
      if (ids.empty()) continue;
      options.max_tokens = ids.size() - 1;
      again.resize(1);
      EXPECT_THAT(tokenizer.encode(text, options, again),
                  FailsWith(TextErrc::kTooManyTokens, "at least "))
          << name << " on " << text;
      EXPECT_EQ(again, std::vector<TokenId>{5});
    }
  }
}

TEST(LongestTokenTest, NoTextHasFewerTokensThanItsSizeSays) {
  const json::value data = read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    const std::string name = text_of(entry.at("name"));
    expect_bound_holds(tokenizer_of(entry.at("tokenizer"), name), name);
  }
  for (const char* normalizer :
       {R"({"type": "NFC"})", R"({"type": "NFD"})", R"({"type": "NFKC"})", R"({"type": "NFKD"})",
        R"({"type": "Lowercase"})", R"({"type": "Prepend", "prepend": " "})",
        R"({"type": "Replace", "pattern": {"String": "\u212A\u212A"}, "content": " the"})",
        R"({"type": "Replace", "pattern": {"String": " the"}, "content": "h"})",
        R"({"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFKC"}]})"}) {
    const Tokenizer tokenizer = with_normalizer(normalizer);
    EXPECT_TRUE(tokenizer.bytes_per_token(false)) << normalizer;
    expect_bound_holds(tokenizer, normalizer);
  }
}

TEST(LongestTokenTest, KnowsItForModelsOfBytes) {
  const Tokenizer plain = tokenizer_of(bytes_tokenizer(), "plain");
  EXPECT_EQ(plain.bytes_per_token(false), 6U) << "<0x00> is the longest";
  EXPECT_EQ(with_normalizer(R"({"type": "NFC"})").bytes_per_token(false), 36U);
}

TEST(LongestTokenTest, KnowsNothingWhereTextMayVanish) {
  for (const char* normalizer :
       {R"({"type": "Strip", "strip_left": true, "strip_right": true})",
        R"({"type": "StripAccents"})", R"({"type": "Nmt"})",
        R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true})",
        R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})",
        R"({"type": "Replace", "pattern": {"String": "x"}, "content": ""})"}) {
    const Tokenizer tokenizer = with_normalizer(normalizer);
    EXPECT_FALSE(tokenizer.bytes_per_token(false)) << normalizer;
    expect_bound_holds(tokenizer, normalizer);
  }
  json::value removed = bytes_tokenizer();
  removed.as_object()["pre_tokenizer"] = json::parse(R"({"type": "WhitespaceSplit"})");
  EXPECT_FALSE(tokenizer_of(removed, "removed").bytes_per_token(false));
  json::value lacking = bytes_tokenizer();
  lacking.at("model").as_object()["byte_fallback"] = false;
  EXPECT_FALSE(tokenizer_of(lacking, "lacking").bytes_per_token(false)) << "unknowns are dropped";
}

TEST(LongestTokenTest, AnAddedTokenThatTakesWhiteSpaceAlongMayStandForAnyNumber) {
  json::value content = bytes_tokenizer();
  content.as_object()["added_tokens"] =
      json::parse(R"([{"id": 263, "content": "<|end|>", "rstrip": true, "special": true}])");
  const Tokenizer tokenizer = tokenizer_of(content, "rstrip");
  EXPECT_TRUE(tokenizer.bytes_per_token(false));
  EXPECT_FALSE(tokenizer.bytes_per_token(true));
  std::vector<TokenId> ids;
  const std::string text = "<|end|>" + std::string(100'000, ' ');
  EXPECT_TRUE(tokenizer.encode(
      text, {.add_special = false, .parse_special = true, .max_tokens = 100'001}, ids));
}

TEST(LongestTokenTest, ATextThatIsTooLongIsNotLookedAt) {
  const Tokenizer tokenizer = tokenizer_of(bytes_tokenizer(), "plain");
  const std::string text(std::size_t{8} << 20, 't');
  std::vector<TokenId> ids;
  EXPECT_THAT(tokenizer.encode(text, {.add_special = false, .max_tokens = 1024}, ids),
              FailsWith(TextErrc::kTooManyTokens, "at least 1398102 tokens"));
  EXPECT_EQ(ids.capacity(), 0U);
}

TEST(LongestTokenTest, EncodingEndsWhereThereAreTooMany) {
  json::value content = bytes_tokenizer();
  content.as_object()["pre_tokenizer"] = json::parse(R"({"type": "WhitespaceSplit"})");
  const Tokenizer tokenizer = tokenizer_of(content, "words");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "he   ";
  std::vector<TokenId> ids;
  EXPECT_THAT(tokenizer.encode(text, {.add_special = false, .max_tokens = 99}, ids),
              FailsWith(TextErrc::kTooManyTokens, "at least 100 tokens"));
  EXPECT_TRUE(tokenizer.encode(text, {.add_special = false, .max_tokens = 1000}, ids));
  EXPECT_EQ(ids.size(), 1000U);
}

TEST(LongestTokenTest, ANormalFormMakesAByteOfSixAtMost) {
  for (char32_t code = 1; code <= 0x2FFFF; ++code) {  // beyond, nothing decomposes
    if (!is_scalar_value(code)) continue;
    const std::string character = to_utf8(code);
    std::string parts = character;
    normalize_unicode(parts, {.compose = false, .compatibility = false});
    const std::size_t count = count_code_points(parts);
    // Each part may have been written as another character of 4 bytes.
    ASSERT_LE(4 * count, 6 * character.size())
        << "U+" << std::hex << static_cast<std::uint32_t>(code);
  }
}

}  // namespace
}  // namespace weft
