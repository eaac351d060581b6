#include "weft/net/api/fields/body_fields.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

constexpr auto kWhole = std::numeric_limits<std::int64_t>();

class BodyFieldsTest : public testing::Test {
 public:
  std::string parsed(std::string_view text) { return verdict(parser.parse(text)); }
  BodyFields fields(std::string_view text, std::string path = {}) {
    return BodyFields(parser.parse(text).value(), std::move(path));
  }
  /// Returns "param code" of the first mistake that taking a field finds.
  template <class Take>
  std::string mistake(std::string_view text, const Take& take) {
    BodyFields of = fields(text);
    static_cast<void>(take(of));
    return of.error() ? of.error()->param + " " + of.error()->code : "none";
  }
  std::string integer_mistake(std::string_view text) {
    return mistake(text, [](BodyFields& f) { return f.integer("n", kWhole.min(), kWhole.max()); });
  }

  BodyParser parser;
};

TEST(ParsedBodyTest, TheMemoryOfABigOneGoesWithIt) {
  const std::string big = R"({"a":")" + std::string(defaults::kKeptBody, 'x') + "\"}";
  {
    const ParsedBody body(big);
    ASSERT_TRUE(body.object());
    EXPECT_GE(ParsedBody::parser().capacity(), big.size());
  }
  EXPECT_LE(ParsedBody::parser().capacity(), defaults::kKeptBody);
}

TEST_F(BodyFieldsTest, ABodyIsAnObject) {
  EXPECT_EQ(parsed("{}"), "200");
  for (const char* text : {"[1]", "5", "null", "true", "\"text\"", "[]"}) {
    EXPECT_EQ(parsed(text), "- invalid_type") << text;
  }
  for (const char* text :
       {"", " ", "{", "}", "{\"a\":}", "{'a':1}", "{\"a\":1}{", "nul", "{\"a\":NaN}", "{\"a\":01}",
        "{\"a\":1e}", "{\"a\":\"\\uD800\"}", "{\"a\":\"\n\"}"}) {
    EXPECT_EQ(parsed(text), "- invalid_json") << text;
  }
}

TEST_F(BodyFieldsTest, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  const auto refused = parser.parse("{\"a\":\"b\xFF\"}");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("at byte 7"));
}

TEST_F(BodyFieldsTest, AByteOrderMarkIsNoJson) {
  const auto refused = parser.parse("\xEF\xBB\xBF{\"a\":1}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "invalid_json");
  EXPECT_THAT(refused.error().message, testing::HasSubstr("byte order mark"));
  EXPECT_EQ(parsed("{\"a\":\"\xEF\xBB\xBF\"}"), "200") << "in a text it is a character";
}

TEST_F(BodyFieldsTest, AFieldThatStandsTwiceIsRefusedByItsPath) {
  const auto code = [](const std::string& path) { return path + " duplicate_parameter"; };
  EXPECT_EQ(parsed(R"({"a":1,"b":2,"a":1})"), code("a"));
  EXPECT_EQ(parsed(R"({"a":null,"a":1})"), code("a"));
  EXPECT_EQ(parsed(R"({"temperature":0,"temper\u0061ture":1})"), code("temperature"))
      << "however it is written";
  EXPECT_EQ(parsed(R"({"messages":[{"role":"user"},{"role":"user","x":{},"role":"system"}]})"),
            code("messages[1].role"));
  EXPECT_EQ(parsed(R"({"a":{"b":[[{"c":1,"c":2}]]}})"), code("a.b[0][0].c"));
  EXPECT_EQ(parsed(R"({"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}]})"), "200");
  EXPECT_EQ(parsed(R"({"a":1,"A":1})"), "200");
  for (const std::size_t count : {11U, 12U, 13U, 4'000U}) {
    std::string many = "{\"twice\":0";
    for (std::size_t i = 2; i < count; ++i) many += ",\"f" + std::to_string(i) + "\":0";
    EXPECT_EQ(parsed(many + "}"), "200") << count;
    EXPECT_EQ(parsed(many + ",\"twice\":0}"), code("twice")) << count;
  }
}

TEST_F(BodyFieldsTest, AnObjectOrAListThatIsTooLargeIsRefusedByItsPath) {
  const auto fields = [](std::size_t count) {
    std::string object = "{\"f\":0";
    for (std::size_t i = 1; i < count; ++i) object += ",\"" + std::to_string(i) + "\":0";
    return object + "}";
  };
  const auto entries = [](std::size_t count) {
    std::string list = "[0";
    for (std::size_t i = 1; i < count; ++i) list += ",0";
    return list + "]";
  };
  EXPECT_EQ(parsed(fields(defaults::kMaxObjectFields)), "200");
  EXPECT_EQ(parsed(fields(defaults::kMaxObjectFields + 1)), "- invalid_value");
  EXPECT_EQ(parsed("{\"logit_bias\":" + fields(defaults::kMaxObjectFields + 1) + "}"),
            "logit_bias invalid_value");
  EXPECT_EQ(parsed("{\"prompt\":" + entries(defaults::kMaxListEntries) + "}"), "200");
  EXPECT_EQ(parsed("{\"a\":{\"prompt\":" + entries(defaults::kMaxListEntries + 1) + "}}"),
            "a.prompt invalid_value");
}

TEST_F(BodyFieldsTest, ANumberBeyond64BitsIsRefusedByItsPath) {
  EXPECT_EQ(parsed(R"({"seed":18446744073709551616})"), "seed invalid_value");
  EXPECT_EQ(parsed(R"({"seed":-9223372036854775809})"), "seed invalid_value");
  EXPECT_EQ(parsed(R"({"a":1,"temperature":1e999})"), "temperature invalid_value");
  EXPECT_EQ(parsed(R"({"a":-1.5E+400})"), "a invalid_value");
  EXPECT_EQ(parsed("{\"a\":" + std::string(400, '1') + "}"), "a invalid_value");
  EXPECT_EQ(parsed(R"({"a":[1,"x,{",{"b\"[":2,"c":[0,[123456789012345678901]]}]})"),
            "a[2].c[1][0] invalid_value");
  EXPECT_EQ(parsed(R"({"a" : {"b":1e-999, "c":[]} ,"d"
:99999999999999999999})"),
            "d invalid_value")
      << "a number that is too small is 0";
  EXPECT_EQ(parsed(R"({"a":1e-999})"), "200");
  const auto refused = parser.parse(R"({"n":99999999999999999999})");
  EXPECT_EQ(refused.error().message, "n: is a number beyond 64 bits");
}

TEST_F(BodyFieldsTest, NestingIsBounded) {
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_EQ(parsed(nested(BodyParser::kMaxDepth)), "200");
  EXPECT_EQ(parsed(nested(BodyParser::kMaxDepth + 1)), "- invalid_json");
  EXPECT_EQ(parsed(nested(100'000)), "- invalid_json");
  EXPECT_EQ(parsed(std::string(100'000, '[')), "- invalid_json");
  EXPECT_EQ(parsed(nested(BodyParser::kMaxDepth)), "200") << "the parser lives on";
}

TEST_F(BodyFieldsTest, MemoryForABigBodyIsGivenBack) {
  const std::string big = "{\"a\":\"" + std::string(1U << 20U, 'x') + "\"}";
  EXPECT_EQ(parsed(big), "200");
  EXPECT_GE(parser.capacity(), big.size());
  parser.trim();
  EXPECT_EQ(parser.capacity(), 0U);
  EXPECT_EQ(parsed(big), "200");
  EXPECT_EQ(parsed("{}"), "200");
  EXPECT_LE(parser.capacity(), defaults::kSmallestBody);
  const std::size_t small = parser.capacity();
  EXPECT_EQ(parsed("{\"a\":1}"), "200");
  EXPECT_EQ(parser.capacity(), small) << "small memory is kept";
}

TEST_F(BodyFieldsTest, FieldsAreTakenByTheirType) {
  BodyFields of = fields(R"({"t":"x","f":true,"i":-3,"w":3.0,"d":0.5,"l":[1],"o":{"a":1}})");
  EXPECT_EQ(of.text("t"), "x");
  EXPECT_EQ(of.flag("f"), true);
  EXPECT_EQ(of.integer("i", -3, 3), -3);
  EXPECT_EQ(of.integer("w", -3, 3), 3);
  EXPECT_EQ(of.number("d"), 0.5);
  EXPECT_EQ(of.number("i"), -3);
  EXPECT_EQ(of.array("l")->size(), 1U);
  EXPECT_EQ(of.object("o")->size(), 1U);
  EXPECT_FALSE(of.any("absent"));
  EXPECT_FALSE(of.finish());
}

TEST_F(BodyFieldsTest, AnotherTypeIsAMistakeThatNamesTheField) {
  const char* text = R"({"n":{"a":"1"}})";
  EXPECT_EQ(mistake(text, [](BodyFields& f) { return f.text("n"); }), "n invalid_type");
  EXPECT_EQ(mistake(text, [](BodyFields& f) { return f.flag("n"); }), "n invalid_type");
  EXPECT_EQ(mistake(text, [](BodyFields& f) { return f.number("n"); }), "n invalid_type");
  EXPECT_EQ(mistake(text, [](BodyFields& f) { return f.array("n"); }), "n invalid_type");
  EXPECT_EQ(mistake(R"({"n":[]})", [](BodyFields& f) { return f.object("n"); }), "n invalid_type");
  EXPECT_EQ(integer_mistake(text), "n invalid_type");
  EXPECT_EQ(integer_mistake(R"({"n":"5"})"), "n invalid_type");
  EXPECT_EQ(integer_mistake(R"({"n":true})"), "n invalid_type");
}

TEST_F(BodyFieldsTest, IntegersAreWholeAndInRange) {
  EXPECT_EQ(integer_mistake(R"({"n":1.5})"), "n invalid_type");
  EXPECT_EQ(integer_mistake(R"({"n":1e300})"), "n invalid_value");
  EXPECT_EQ(integer_mistake(R"({"n":9223372036854775807})"), "none");
  EXPECT_EQ(integer_mistake(R"({"n":-9223372036854775808})"), "none");
  EXPECT_EQ(integer_mistake(R"({"n":9223372036854775808})"), "n invalid_value");
  EXPECT_EQ(integer_mistake(R"({"n":9223372036854775808.0})"), "n invalid_value");
  EXPECT_EQ(integer_mistake(R"({"n":18446744073709551615})"), "n invalid_value");
  EXPECT_EQ(integer_mistake(R"({"n":-9223372036854775808.0})"), "none");
  const auto of_ten = [](BodyFields& f) { return f.integer("n", 0, 10); };
  EXPECT_EQ(mistake(R"({"n":11})", of_ten), "n invalid_value");
  EXPECT_EQ(mistake(R"({"n":-1})", of_ten), "n invalid_value");
  EXPECT_EQ(mistake(R"({"n":10})", of_ten), "none");
}

TEST_F(BodyFieldsTest, NullIsAbsent) {
  BodyFields of = fields(R"({"a":null,"b":null})");
  EXPECT_FALSE(of.text("a"));
  EXPECT_FALSE(of.finish());
}

TEST_F(BodyFieldsTest, OfSeveralWithOneNameTheFirstCounts) {
  // In files of models; a client's body has none.
  simdjson::dom::parser any;
  const auto object_of = [&any](const char* text) {
    return any.parse(text, std::strlen(text)).get_object();
  };
  BodyFields of(object_of(R"({"a":1,"a":"x","a":null})"));
  EXPECT_EQ(of.integer("a", 0, 9), 1);
  EXPECT_FALSE(of.finish());
  BodyFields null_first(object_of(R"({"a":null,"a":1})"));
  EXPECT_FALSE(null_first.integer("a", 0, 9));
}

TEST_F(BodyFieldsTest, TheFirstMistakeStays) {
  BodyFields of = fields(R"({"a":1,"b":2,"c":3})", "messages[2]");
  EXPECT_FALSE(of.text("a"));
  EXPECT_FALSE(of.text("b"));
  EXPECT_FALSE(of.integer("c", 0, 9)) << "everything after a mistake is absent";
  of.fail("d", "is wrong");
  const auto& error = of.finish();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "messages[2].a");
  EXPECT_EQ(error->message, "messages[2].a: must be a string");
}

TEST_F(BodyFieldsTest, WhatNobodyTookIsUnknown) {
  BodyFields of = fields(R"({"a":1,"ignored":2,"nothing":null,"tempratur":3,"x":4})", "options");
  EXPECT_EQ(of.integer("a", 0, 9), 1);
  of.ignore({"ignored", "other"});
  const auto& error = of.finish();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "unknown_parameter");
  EXPECT_EQ(error->param, "options.tempratur");
}

TEST_F(BodyFieldsTest, AnUnknownNameIsShownInPart) {
  BodyFields of = fields("{\"" + std::string(10'000, 'x') + "\":1}");
  const auto& error = of.finish();
  ASSERT_TRUE(error);
  EXPECT_LT(error_body(*error).size(), 400U);
}

TEST_F(BodyFieldsTest, FieldsAreBoundedInNumber) {
  const auto many = [](std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\":null";
    }
    return text + "}";
  };
  EXPECT_FALSE(fields(many(BodyFields::kMaxFields)).finish());
  EXPECT_TRUE(fields(many(BodyFields::kMaxFields + 1)).finish());
  EXPECT_TRUE(fields(many(defaults::kMaxObjectFields)).finish());
}

TEST_F(BodyFieldsTest, ACopyHasAllTypesInTheirOrder) {
  const char* text = R"({"b":[1,-2,18446744073709551615,1.5E0,"x",true,null],"a":{"c":{}}})";
  BodyFields of = fields(R"({"v":)" + std::string(text) + "}");
  EXPECT_EQ(boost::json::serialize(to_json(*of.any("v"))), text);
}

}  // namespace
}  // namespace weft::test
