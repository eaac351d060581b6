#include "weft/text/format/tool_schemas.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

using Type = ToolSchemas::Type;

TEST(ToolSchemasTest, AParameterIsATextWhereItsSchemaAllowsNothingElse) {
  const std::vector<std::pair<std::string, Type>> cases = {
      {R"({"type":"string"})", Type::kText},
      {R"({"type":["string"]})", Type::kText},
      {R"({"enum":["a","b"]})", Type::kText},
      {R"({"const":"a"})", Type::kText},
      {R"({"$ref":"#/$defs/name"})", Type::kText},
      {R"({"type":["string","null"]})", Type::kOptionalText},
      {R"({"anyOf":[{"type":"string"},{"type":"null"}]})", Type::kOptionalText},
      {R"({"oneOf":[{"$ref":"#/$defs/name"},{"type":"null"}]})", Type::kOptionalText},
      {R"({"type":"string","nullable":true})", Type::kOptionalText},
      {R"({"enum":["a",null]})", Type::kOptionalText},
      {R"({"type":"integer"})", Type::kOther},
      {R"({"type":["integer","null"]})", Type::kOther},
      {R"({"type":"array","items":{"type":"string"}})", Type::kOther},
      {R"({"type":["string","integer"]})", Type::kUnknown},
      {R"({"anyOf":[{"type":"string"},{}]})", Type::kUnknown},
      {R"({"$ref":"#/$defs/none"})", Type::kUnknown},
      {R"({"$ref":"#/$defs/loop"})", Type::kUnknown},
      {R"({})", Type::kUnknown},
      {R"(true)", Type::kUnknown},
  };
  for (const auto& [schema, type] : cases) {
    const std::string tools =
        R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":)"
        R"({"name":{"type":"string"},"loop":{"$ref":"#/$defs/loop"}},"properties":{"a":)" +
        schema + "}}}}]";
    EXPECT_EQ(ToolSchemas(boost::json::parse(tools)).type_of("f", "a"), type) << schema;
  }
}

}  // namespace
}  // namespace weft::test
