#include "weft/net/api/fields/json_text.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/tests/text/tokenizer/random_text.h"

namespace weft {
namespace {

std::string written(std::string_view text) {
  std::string out = "x";
  append_json_string(out, text);
  return out.substr(1);
}

/// Returns the text that a parser reads back.
std::string read_back(std::string_view text) {
  simdjson::dom::parser parser;
  std::string_view value;
  const std::string json = "[" + written(text) + "]";
  EXPECT_EQ(parser.parse(json).get_array().at(0).get(value), simdjson::SUCCESS) << json;
  return std::string(value);
}

TEST(JsonTextTest, EscapesWhatJsonForbidsAndNothingElse) {
  EXPECT_EQ(written(""), R"("")");
  EXPECT_EQ(written("plain text / \x7F"), "\"plain text / \x7F\"");
  EXPECT_EQ(written("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(written("\n\r\t\b\f\v"), R"("\n\r\t\u0008\u000c\u000b")");
  EXPECT_EQ(written(std::string_view("\0\x1F", 2)), R"("\u0000\u001f")");
  EXPECT_EQ(written("\u00E9\u20AC\U0001F680\u2028"), "\"\u00E9\u20AC\U0001F680\u2028\"");
}

TEST(JsonTextTest, FindsEachByteThatNeedsAnEscapeAtEachPlaceOfAWord) {
  for (int byte = 0; byte < 128; ++byte) {
    for (std::size_t length = 1; length <= 20; ++length) {
      for (std::size_t at = 0; at < length; ++at) {
        std::string text(length, 'x');
        text[at] = static_cast<char>(byte);
        const auto size = written(text).size();
        EXPECT_EQ(read_back(text), text);
        const bool plain = byte >= 0x20 && byte != '"' && byte != '\\';
        EXPECT_EQ(size == length + 2, plain) << byte;
      }
    }
  }
}

TEST(JsonTextTest, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(read_back("a\x80z"), "a\uFFFDz");
  EXPECT_EQ(read_back("\xE2\x82"), "\uFFFD");
  EXPECT_EQ(read_back("\xE2\x82\"\xC3\xA9\xFF"), "\uFFFD\"\u00E9\uFFFD");
  EXPECT_EQ(read_back("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(read_back("\xC0\xAF"), "\uFFFD\uFFFD") << "an overlong slash";
}

TEST(JsonTextTest, GivesAnyBytesBackAsTheUnicodeStandardRepairsThem) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text = test::random_text(random, 6);
    for (auto broken = random() % 4; broken > 0 && !text.empty(); --broken) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    EXPECT_EQ(read_back(text), lossy_utf8(text));
  }
}

TEST(JsonTextTest, WritesNumbersOfEverySize) {
  std::string out;
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1'234'567},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    append_number(out, number);
    out.push_back(' ');
  }
  EXPECT_EQ(out, "0 -7 1234567 -9223372036854775808 9223372036854775807 ");
}

TEST(JsonTextTest, WritesValuesAsPeopleDo) {
  EXPECT_EQ(json_text({{"temperature", 0.7}, {"top_p", 1.0}, {"n", 2}, {"stop", {"a\"", nullptr}}}),
            R"({"temperature":0.7,"top_p":1.0,"n":2,"stop":["a\"",null]})");
  EXPECT_EQ(json_text(1e300), "1e+300");
  EXPECT_EQ(json_text(boost::json::object()), "{}");
  EXPECT_EQ(json_text(std::uint64_t{18446744073709551615U}), "18446744073709551615");
}

TEST(JsonTextTest, WritesNullForAnAbsentText) {
  std::string out;
  append_json_string_or_null(out, "");
  append_json_string_or_null(out, "a");
  EXPECT_EQ(out, "null\"a\"");
}

}  // namespace
}  // namespace weft
