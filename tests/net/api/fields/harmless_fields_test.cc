#include "weft/net/api/fields/harmless_fields.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

class HarmlessFieldsTest : public ApiFixture {
 public:
  /// The verdict on an object of `place` that has this one field.
  std::string taken(FieldPlace place, const std::string& name, const std::string& value) {
    BodyFields fields(body("{\"" + name + "\":" + value + "}"));
    take_harmless_fields(fields, place);
    const auto& error = fields.finish();
    return error ? error->param + " " + error->code : "200";
  }
};

/// Returns a value that a row allows, and a value that it does not, if there is one.
std::pair<std::string, std::string> examples(Harmless values) {
  switch (values) {
    case Harmless::kAnything:
      return {R"({"a":[1]})", ""};
    case Harmless::kText:
      return {R"("a")", "1"};
    case Harmless::kFlag:
      return {"false", "0"};
    case Harmless::kTrue:
      return {"true", "false"};
    case Harmless::kFalse:
      return {"false", "true"};
    case Harmless::kEmptyList:
      return {"[]", "[0]"};
    case Harmless::kEmptyObject:
      return {"{}", R"({"a":0})"};
    case Harmless::kEmptyText:
      return {R"("")", R"("a")"};
    case Harmless::kVerbosity:
      return {R"("low")", R"("loud")"};
  }
  return {};
}

TEST_F(HarmlessFieldsTest, EachIsTakenWithItsValuesAndNoOthers) {
  for (const HarmlessField& field : harmless_fields()) {
    const std::string name(field.name);
    const auto [good, bad] = examples(field.values);
    EXPECT_EQ(taken(field.place, name, good), "200") << name;
    EXPECT_EQ(taken(field.place, name, "null"), "200") << name;
    if (!bad.empty()) {
      EXPECT_EQ(taken(field.place, name, bad), name + " unsupported") << name;
    }
  }
  EXPECT_EQ(taken(FieldPlace::kRequest, "temperatur", "1"), "temperatur unknown_parameter");
}

TEST_F(HarmlessFieldsTest, EachStandsOnceAndSaysWhoSendsIt) {
  std::set<std::string> seen;
  for (const HarmlessField& field : harmless_fields()) {
    const std::string path = std::string(path_of(field.place)) + std::string(field.name);
    EXPECT_TRUE(seen.insert(path).second) << path << " is listed twice";
    EXPECT_GT(field.sender.size(), 10U) << path;
    EXPECT_FALSE(words_of(field.values).empty()) << path;
  }
}

}  // namespace
}  // namespace weft::test
