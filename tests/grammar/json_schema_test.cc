#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/text/json/json_text.h"

namespace weft::grammar {
namespace {

using boost::json::value;

const value& cases() {
  static const value all = [] {
    const auto file =
        read_text_file(test::source_path("tests/grammar/data/schema_cases.json"), 16U << 20U);
    std::string problem;
    value read = parse_json(file.value(), 100, problem);
    EXPECT_EQ(problem, "");
    return read;
  }();
  return all;
}

TEST(JsonSchemaTest, AcceptsWhatTheReferenceAcceptsAndNothingElse) {
  std::size_t documents = 0;
  for (const value& one : cases().at("cases").as_array()) {
    const std::string schema = boost::json::serialize(one.at("schema"));
    Error error;
    const auto grammar = schema_grammar(schema, &error);
    ASSERT_NE(grammar, nullptr) << schema << ": " << to_string(error);
    const auto expect = [&](std::string_view list, bool accepted) {
      for (const value& document : one.at(list).as_array()) {
        EXPECT_EQ(accepts(*grammar, std::string(document.as_string())), accepted)
            << schema << " and " << document;
        ++documents;
      }
    };
    expect("accept", true);
    expect("reject", false);
    expect("narrow", false);
  }
  EXPECT_GT(documents, 3000U);
}

TEST(JsonSchemaTest, WritesNoWhiteSpaceButTheSeparatorsThatGuidanceAsksFor) {
  const auto grammar = schema_grammar(R"({
      "type": "object", "additionalProperties": false, "required": ["a", "b"],
      "properties": {"a": {"type": "array", "items": {"type": "integer"}},
                     "b": {"anyOf": [{"const": {"c": [1, 2]}}, {"type": "object"}]}},
      "x-guidance": {"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": ",
                     "whitespace_pattern": null, "coerce_one_of": true, "lenient": false}})");
  ASSERT_NE(grammar, nullptr);
  for (const char* text : {R"({"a": [], "b": {}})", R"({"a": [1, 2, 3], "b": {"c": [1, 2]}})",
                           R"({"a": [1], "b": {"d": null, "e": [true, {}]}})"}) {
    EXPECT_TRUE(accepts(*grammar, text)) << text;
  }
  for (const char* text :
       {R"({"a":[], "b": {}})", R"({"a": [],"b": {}})", R"({ "a": [], "b": {}})",
        R"({"a": [], "b": {} })", R"({"a": [1,2], "b": {}})", R"({"a": [ 1], "b": {}})",
        R"({"a": [], "b": {"c": [1,2]}})", "{\"a\": [],\n\"b\": {}}"}) {
    EXPECT_FALSE(accepts(*grammar, text)) << text;
  }
}

TEST(JsonSchemaTest, AllowsWhiteSpaceAfterTheSeparatorsThatGuidanceAsksForUnlessToldNot) {
  const auto grammar =
      schema_grammar(R"({"type": "array", "items": {}, "x-guidance": {"item_separator": ", "}})");
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(accepts(*grammar, "[1, 2]"));
  EXPECT_TRUE(accepts(*grammar, "[ 1, \n  2]"));
  EXPECT_FALSE(accepts(*grammar, "[1,2]"));
}

TEST(JsonSchemaTest, RefusesSeparatorsOfGuidanceThatAreNoJson) {
  for (const char* options : {"1", R"({"whitespace_flexible": 1})", R"({"item_separator": ";"})",
                              R"({"key_separator": "="})", R"({"key_separator": 1})",
                              R"({"whitespace_pattern": " *"})"}) {
    Error error;
    const std::string schema = R"({"x-guidance": )" + std::string(options) + "}";
    EXPECT_EQ(schema_grammar(schema, &error), nullptr) << schema;
    EXPECT_NE(error.detail.find("x-guidance"), std::string::npos) << error.detail;
  }
}

TEST(JsonSchemaTest, RefusesByItsPlaceWhatItDoesNotSupport) {
  for (const value& one : cases().at("refused").as_array()) {
    const std::string schema = boost::json::serialize(one);
    Error error;
    EXPECT_EQ(schema_grammar(schema, &error), nullptr) << schema;
    EXPECT_EQ(error.code.category(), grammar_category()) << schema;
  }
  Error error;
  EXPECT_EQ(schema_grammar(R"({"type":"object","properties":{"a":{"items":{"not":{}}}}})", &error),
            nullptr);
  EXPECT_EQ(error.code, GrammarErrc::kUnsupportedSchema);
  EXPECT_EQ(error.detail, "schema.properties.a.items.not: this keyword is not supported");
}

TEST(JsonSchemaTest, NamesEachPlaceThatItLetsPassOnce) {
  const auto grammar = lenient_grammar(
      R"({"$defs":{"p":{"type":"string","format":"path"}},"type":"object","properties":{)"
      R"("a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/$defs/p"},"c":{"not":{"type":"integer"}}}})");
  ASSERT_NE(grammar, nullptr);
  EXPECT_EQ(grammar->not_enforced(),
            (std::vector<std::string>{"schema.#/$defs/p.format", "schema.properties.c.not"}));
}

TEST(JsonSchemaTest, SaysThatThereAreMorePlacesThanItNames) {
  std::string schema = R"({"type":"object","properties":{"a":{})";
  for (int i = 0; i < 100; ++i) {
    schema += ",\"" + std::string(300, 'x') + std::to_string(i) + R"(":{"format":"path"})";
  }
  const auto grammar = lenient_grammar(schema + "}}");
  ASSERT_NE(grammar, nullptr);
  ASSERT_EQ(grammar->not_enforced().size(), defaults::kMaxNotEnforced + 1);
  EXPECT_EQ(grammar->not_enforced().back(), "...");
  EXPECT_TRUE(grammar->not_enforced().front().starts_with("...x"));
  EXPECT_TRUE(grammar->not_enforced().front().ends_with("x0.format"));
  EXPECT_LE(grammar->not_enforced().front().size(), defaults::kMaxPlaceBytes + 3);
}

TEST(JsonSchemaTest, LetsConditionsPassWhereTheyWouldMakeALenientSchemaTooLarge) {
  std::string schema = R"({"type":"object","properties":{"p0":{"type":"string"})";
  for (int i = 1; i < 60; ++i) {
    schema += ",\"p" + std::to_string(i) + R"(":{"type":"string","enum":["a","b","c"]})";
  }
  schema += R"(},"required":["p0"],"allOf":[true)";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i);
    // NOLINTNEXTLINE(performance-inefficient-string-concatenation): easier to read as one schema
    schema += R"(,{"if":{"properties":{"p0":{"const":"v)" + n + R"("}}},"then":{"required":["p)" +
              n + R"("]}})";
  }
  Error error;
  const auto grammar = lenient_grammar(schema + "]}", &error);
  ASSERT_NE(grammar, nullptr) << to_string(error);
  const std::vector<std::string>& places = grammar->not_enforced();
  EXPECT_NE(std::ranges::find(places, "schema.allOf[11].if"), places.end());
  EXPECT_TRUE(accepts(*grammar, R"({"p0":"v1","p1":"a"})"));
  EXPECT_FALSE(accepts(*grammar, R"({"p1":"a"})"));
}

TEST(JsonSchemaTest, RefusesWhatIsNoSchemaHoweverLenient) {
  for (const std::string_view schema :
       {R"({"type":5})", R"({"properties":[]})", R"({"pattern":7})", R"({"minLength":-1})",
        R"({"anyOf":[]})", R"({"multipleOf":0})", R"({"$ref":"#/nowhere"})", R"({"nullable":1})",
        R"({"dependentRequired":[]})", "[]"}) {
    Error error;
    EXPECT_EQ(lenient_grammar(schema, &error), nullptr) << schema;
    EXPECT_EQ(error.code, GrammarErrc::kBadSchema) << schema;
  }
}

/// Returns the length of the longest digits ending in `last` that a grammar of numbers allows.
std::size_t most_digits(const Grammar& grammar, char first, std::string_view last) {
  std::size_t most = 0;
  for (std::size_t digits = 1; digits < 60; ++digits) {
    std::string text(digits, '0');
    text[0] = first;
    if (accepts(grammar, text + std::string(last))) most = digits;
  }
  return most;
}

TEST(JsonSchemaTest, WritesNoNumberOfMoreDigitsThanAreDocumented) {
  for (const std::string_view schema :
       {R"({"type":"integer"})", R"({"type":"number"})", R"({"type":"integer","multipleOf":5})",
        R"({"type":"integer","multipleOf":1000})", R"({"type":"number","multipleOf":0.5})",
        R"({"type":"number","multipleOf":0.01})", R"({"type":"integer","minimum":3})",
        R"({"type":"number","exclusiveMinimum":3})", R"({"multipleOf":4,"minimum":3})",
        R"({"type":"number","multipleOf":2.5,"exclusiveMinimum":-7})"}) {
    EXPECT_EQ(most_digits(*schema_grammar(schema), '1', ""), 19U) << schema;
  }
  for (const std::string_view schema : {R"({"type":"number","minimum":0,"maximum":1e300})",
                                        R"({"type":"integer","multipleOf":2,"maximum":1e25})"}) {
    EXPECT_LE(most_digits(*schema_grammar(schema), '1', ""), 20U) << schema;
  }
  // A bound may ask for more.
  EXPECT_EQ(most_digits(*schema_grammar(R"({"type":"integer","minimum":1e30})"), '9', ""), 31U);
  EXPECT_GE(most_digits(*schema_grammar(R"({"multipleOf":8,"exclusiveMinimum":1e30})"), '8', ""),
            31U);
  EXPECT_EQ(most_digits(*schema_grammar(R"({"type":"integer","maximum":-5})"), '1', ""), 0U);
}

TEST(JsonSchemaTest, TellsMultiplesFromOtherNumbersInEveryRange) {
  struct Range {
    std::string_view bounds;
    int low, high;
  };
  for (const int divisor : {1, 3, 7, 10, 12, 60}) {
    for (const Range& range : {Range{"", -400, 400}, Range{R"(,"minimum":-37)", -37, 400},
                               Range{R"(,"exclusiveMaximum":120)", -400, 119},
                               Range{R"(,"minimum":9,"maximum":101)", 9, 101},
                               Range{R"(,"minimum":-99.5,"maximum":-9.5)", -99, -10},
                               Range{R"(,"exclusiveMinimum":0,"maximum":100)", 1, 100}}) {
      const std::string schema = R"({"type":"integer","multipleOf":)" + std::to_string(divisor) +
                                 std::string(range.bounds) + "}";
      const auto grammar = schema_grammar(schema);
      ASSERT_NE(grammar, nullptr) << schema;
      for (int i = -125; i <= 125; ++i) {
        const bool expected = i % divisor == 0 && i >= range.low && i <= range.high;
        EXPECT_EQ(accepts(*grammar, std::to_string(i)), expected) << schema << " and " << i;
      }
      for (const std::string_view text : {"00", "01", "-01", "-", "", "1.", "+5"}) {
        EXPECT_FALSE(accepts(*grammar, text)) << schema << " and " << text;
      }
    }
  }
}

TEST(JsonSchemaTest, AllowsWhiteSpaceWhereItIsWritten) {
  const auto grammar =
      schema_grammar(R"({"type":"object","properties":{"a":{}},"required":["a"]})");
  EXPECT_TRUE(accepts(*grammar, "{ \"a\":\r\n 1 }"));
  EXPECT_TRUE(accepts(*grammar, "{\n\t\t\"a\": 1\n}"));
  EXPECT_FALSE(accepts(*grammar, "{\"a\" :1}"));
  EXPECT_FALSE(accepts(*grammar, "{\n\n\"a\":1}"));
  EXPECT_TRUE(accepts(*grammar, "{\n" + std::string(32, ' ') + "\"a\":1}"));
  EXPECT_FALSE(accepts(*grammar, "{\n" + std::string(33, ' ') + "\"a\":1}"));
  EXPECT_FALSE(accepts(*grammar, " {\"a\":1}"));
}

TEST(JsonSchemaTest, KnowsEveryEscapeOfAString) {
  const auto grammar = schema_grammar(R"({"type":"string"})");
  for (const std::string_view text :
       {R"("\"\\\/\b\f\n\r\t")", R"("\u0041\uD7FF\uE000\uffff")", R"("\ud83d\ude00")"}) {
    EXPECT_TRUE(accepts(*grammar, text)) << text;
  }
  for (const std::string_view text :
       {R"("\x41")", R"("\u004")", R"("\ud83d")", R"("\ude00")", R"("\ud83d\u0041")", "\"\n\"",
        "\"\xff\"", "\"\xed\xa0\x80\""}) {
    EXPECT_FALSE(accepts(*grammar, text)) << text;
  }
}

/// How long it takes to read a schema, in a build that is as slow as sanitizers make it.
std::chrono::milliseconds time_of(const std::string& schema, Error& error) {
  const auto began = std::chrono::steady_clock::now();
  const auto grammar = schema_grammar(schema, &error);
  if (grammar) {
    const auto compiled = CompiledGrammar::make(*grammar, byte_vocabulary());
    if (!compiled) error = compiled.error();
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began);
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(JsonSchemaTest, EndsSoonWhateverASchemaAsksFor) {
  std::string doubling = R"({"$defs":{"d0":{"type":"null"})";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "{\"$ref\":\"#/$defs/d" + std::to_string(i - 1) + "\",";
    const std::string n = std::to_string(i);
    doubling.append(",\"d").append(n).append("\":{\"anyOf\":[");
    doubling.append(before).append("\"minimum\":").append(n).append("},");
    doubling.append(before).append("\"maximum\":").append(n).append("}]}");
  }
  doubling += R"(},"$ref":"#/$defs/d59"})";
  const std::string nested =
      repeated(R"({"type":"array","items":)", 5000) + "{}" + repeated("}", 5000);
  std::string union_of_unions = R"({"allOf":[)";
  for (int i = 0; i < 20; ++i) {
    union_of_unions += std::string(i > 0 ? "," : "") +
                       R"({"anyOf":[{"minLength":1},{"minimum":2},{"minItems":3}]})";
  }
  union_of_unions += "]}";
  // Each property that is not listed would get a copy of the long enum.
  std::string copies = R"({"allOf":[{"properties":{"p":true)";
  std::string patterns = R"({"properties":{"p":{})";
  for (int i = 0; i < 20'000; ++i) copies += ",\"p" + std::to_string(i) + "\":true";
  copies += R"(}},{"additionalProperties":{"enum":[)" + repeated("1,", 20'000) + "2]}}]}";
  for (int i = 0; i < 5000; ++i) {
    patterns += ",\"p" + std::to_string(i) +
                R"x(":{"type":"string","pattern":"^(a|b)*a(a|b){8}$","maxLength":1})x";
  }
  patterns += "}}";
  for (const std::string& schema :
       {copies, patterns, R"({"pattern":")" + std::string(1U << 20U, 'a') + "\"}", doubling, nested,
        union_of_unions, std::string(2U << 20U, ' ') + "{}",
        std::string(R"x({"pattern":"((((a{0,1000}){0,1000}){0,1000}){0,1000})"})x"),
        std::string(R"x({"pattern":"(((((a*)*)*)*)*)b","maxLength":1000000})x"),
        "{\"enum\":[" + repeated("[1],", 30'000) + "1]}",
        "{\"properties\":{\"a\":" + repeated("{\"anyOf\":[{\"type\":\"null\"},", 50) + "{}" +
            repeated("]}", 50) + "}}"}) {
    Error error;
    const auto took = time_of(schema, error);
    // Bounded work ends within seconds, even in a slow build on a busy machine; unbounded work
    // takes hours. The matcher's work has no count that a test could see.
    EXPECT_LT(took.count(), 60'000) << schema.substr(0, 80);
  }
  Error error;
  time_of(doubling, error);
  EXPECT_EQ(error.code, GrammarErrc::kTooComplex);
}

}  // namespace
}  // namespace weft::grammar
