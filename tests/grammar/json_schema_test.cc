#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>

#include "weft/core/io/file.h"
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
    // What is bounded ends within seconds even in a slow build on a busy machine; what is not takes
    // hours. Work that the matcher does has no count that a test could see.
    EXPECT_LT(took.count(), 60'000) << schema.substr(0, 80);
  }
  Error error;
  time_of(doubling, error);
  EXPECT_EQ(error.code, GrammarErrc::kTooComplex);
}

}  // namespace
}  // namespace weft::grammar
