#include "weft/text/json/json_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/text/tokenizer/json/tokenizer_fields.h"

namespace weft {
namespace {

class JsonFieldsTest : public testing::Test {
 protected:
  TokenizerFields fields(std::string_view text) {
    return TokenizerFields(parser_.parse(text.data(), text.size()).get_object(), "file");
  }
  static std::string detail(const TokenizerFields& fields) {
    return fields.error() ? fields.error()->detail : "none";
  }

  simdjson::dom::parser parser_;
};

TEST_F(JsonFieldsTest, WhatIsNeededIsMissedByItsPath) {
  const TokenizerFields of = fields(R"({"here":1,"null":null})");
  EXPECT_EQ(of.needed_integer("here", 0, 9), 1);
  EXPECT_EQ(detail(of), "none");
  EXPECT_EQ(of.needed_text("null"), "");
  EXPECT_EQ(detail(of), "file.null is missing");
  EXPECT_EQ(of.needed_integer("here", 0, 9), 0) << "everything after a mistake is absent";
}

TEST_F(JsonFieldsTest, AnotherTypeIsToldOnce) {
  const TokenizerFields of = fields(R"({"a":1,"b":2})");
  EXPECT_EQ(of.needed_text("a"), "");
  EXPECT_TRUE(of.needed_items("b").empty());
  EXPECT_EQ(detail(of), "file.a must be a string");
}

TEST_F(JsonFieldsTest, ObjectsInsideShareTheFirstMistake) {
  const TokenizerFields of = fields(R"({"a":{"b":{}},"c":1})");
  {
    const TokenizerFields inner = of.needed_child("a").needed_child("b");
    EXPECT_EQ(inner.path(), "file.a.b");
    inner.fail("d", "is odd");
  }
  EXPECT_EQ(detail(of), "file.a.b.d is odd");
  of.fail("c", "is odd, too");
  EXPECT_EQ(detail(of), "file.a.b.d is odd");
}

TEST_F(JsonFieldsTest, AChildThatIsMissingOrNoObjectReadsAsEmpty) {
  const TokenizerFields none = fields("{}");
  EXPECT_FALSE(none.needed_child("a").has("b"));
  EXPECT_EQ(detail(none), "file.a is missing");
  const TokenizerFields list = fields(R"({"a":[]})");
  EXPECT_FALSE(list.needed_child("a").has("b"));
  EXPECT_EQ(detail(list), "file.a must be an object");
  EXPECT_EQ(detail(fields("[]")), "file must be an object");
}

TEST_F(JsonFieldsTest, AnUnknownPartHasACodeOfItsOwn) {
  const TokenizerFields of = fields(R"({"type":"New"})");
  fail_unknown(of, "type", of.needed_text("type"));
  EXPECT_EQ(detail(of), "file.type \"New\"");
  EXPECT_EQ(of.error()->code, TextErrc::kUnknownTokenizerPart);
}

}  // namespace
}  // namespace weft
