#include "weft/model/spec/spec_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"

namespace weft {
namespace {

namespace json = boost::json;
using test::CheckpointBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

std::string text_of(SpecScope& scope, const char* expression) {
  return json::serialize(scope.evaluate(json::value(expression), "here"));
}

TEST(SpecScopeTest, LooksInVariablesThenTheSpecsConfigThenTheRootThenTheConfig) {
  const Checkpoint checkpoint =
      CheckpointBuilder(R"({"a": 1, "b": 1, "c": 1, "d": 1, "text": {"a": 2, "b": 2, "c": 2}})")
          .make();
  SpecScope scope(checkpoint);
  scope.set_root(checkpoint.config().get_object().at("text").if_object());
  scope.set_config({{"a", 3}, {"b", 3}});
  scope.set("a", 4);
  EXPECT_EQ(text_of(scope, "= [a, b, c, d]"), "[4,3,2,1]");
}

TEST(SpecScopeTest, PassesOverNullsButKnowsThatTheyAreStated) {
  const Checkpoint checkpoint = CheckpointBuilder(R"({"a": 1, "text": {"a": null}})").make();
  SpecScope scope(checkpoint);
  scope.set_root(checkpoint.config().get_object().at("text").if_object());
  EXPECT_EQ(text_of(scope, "= a"), "1");
  EXPECT_TRUE(scope.states("a"));
  EXPECT_FALSE(scope.states("b"));
}

TEST(SpecScopeTest, FindsFieldsByPathAndFlatNamesWithDots) {
  const Checkpoint checkpoint =
      CheckpointBuilder(R"({"llama.rope.base": 5, "rope": {"inner": {"factor": 2}}, "flat": 3})")
          .make();
  SpecScope scope(checkpoint);
  EXPECT_EQ(text_of(scope, "= [llama.rope.base, rope.inner.factor]"), "[5,2]");
  EXPECT_EQ(text_of(scope, "= rope.inner.missing"), "null");
  EXPECT_EQ(text_of(scope, "= flat.inner"), "null");
}

TEST(SpecScopeTest, LeavesLiteralsAndEvaluatesLists) {
  const Checkpoint checkpoint = CheckpointBuilder(R"({"a": 1})").make();
  SpecScope scope(checkpoint);
  EXPECT_EQ(text_of(scope, "a"), R"("a")");
  EXPECT_EQ(json::serialize(scope.evaluate(json::parse(R"(["a", "= a", 2])"), "here")),
            R"(["a",1,2])");
}

TEST(SpecScopeTest, ReadsTheNumbersOfAShortVectorAndRemembersIt) {
  const Checkpoint checkpoint = CheckpointBuilder("{}")
                                    .tensor("factors", {3}, 2)
                                    .tensor("single", {}, 7)
                                    .tensor("matrix", {2, 2})
                                    .make();
  SpecScope scope(checkpoint);
  EXPECT_EQ(text_of(scope, "= numbers('factors')"), "[2E0,3E0,4E0]");
  EXPECT_EQ(text_of(scope, "= numbers('missing')"), "null");
  EXPECT_EQ(text_of(scope, "= numbers('single')"), "[7E0]");
  EXPECT_THAT(scope.tensors_read(), ElementsAre("factors", "single"));
  EXPECT_EQ(text_of(scope, "= numbers('matrix')"), "null");
  ASSERT_TRUE(scope.error().has_value());
  EXPECT_THAT(scope.error()->detail, testing::HasSubstr("matrix is no vector of at most 1024"));
}

TEST(SpecScopeTest, PutsTheLayersNumberIntoATensorsName) {
  const Checkpoint checkpoint = CheckpointBuilder("{}").tensor("blk.1.up", {5, 3}).make();
  SpecScope scope(checkpoint);
  scope.set("layer", 1);
  EXPECT_EQ(text_of(scope, "= [rows('blk.{layer}.up'), columns('blk.{layer}.up')]"), "[5,3]");
  scope.set("layer", 0);
  EXPECT_EQ(text_of(scope, "= has('blk.{layer}.up')"), "false");
}

TEST(SpecScopeTest, KeepsTheFirstError) {
  const Checkpoint checkpoint = CheckpointBuilder("{}").make();
  SpecScope scope(checkpoint);
  EXPECT_EQ(text_of(scope, "= first + 1"), "null");
  EXPECT_EQ(text_of(scope, "= second + 1"), "null");
  ASSERT_TRUE(scope.error().has_value());
  EXPECT_EQ(scope.error()->code, ModelErrc::kBadConfig);
  EXPECT_EQ(scope.error()->detail, "here = first + 1: first (missing) where a number is needed");
}

class SpecTableReaderTest : public testing::Test {
 protected:
  [[nodiscard]] SpecTableReader read(const char* fields) {
    fields_ = json::parse(fields).get_object();
    return {scope_, &fields_, "table"};
  }
  [[nodiscard]] std::string error() const { return scope_.error() ? scope_.error()->detail : ""; }

  Checkpoint checkpoint_ = CheckpointBuilder(R"({"n": 7})").make();
  SpecScope scope_{checkpoint_};
  json::object fields_;
};

TEST_F(SpecTableReaderTest, ReadsAnAbsentTableAsDefaults) {
  const SpecTableReader table = read("{}").table("inner");
  EXPECT_FALSE(table.present());
  EXPECT_FALSE(table.has("x"));
  EXPECT_EQ(table.integer("x", 5, 0, 9), 5);
  EXPECT_TRUE(table.flag("x", true));
  EXPECT_EQ(table.text("x", "y"), "y");
  EXPECT_THAT(table.texts("x"), IsEmpty());
  EXPECT_EQ(error(), "");
}

TEST_F(SpecTableReaderTest, ReadsEachType) {
  const SpecTableReader table =
      read(R"({"i": "= n + 1", "r": 0.5, "f": true, "s": "word", "l": ["a", "b"]})");
  EXPECT_EQ(table.integer("i", {}, 0, 100), 8);
  EXPECT_EQ(table.number("r", {}, 0, 1), 0.5);
  EXPECT_TRUE(table.flag("f", false));
  EXPECT_EQ(table.text("s", ""), "word");
  EXPECT_THAT(table.texts("l"), ElementsAre("a", "b"));
  EXPECT_THAT(table.texts("s"), ElementsAre("word"));
  EXPECT_EQ(error(), "");
}

TEST_F(SpecTableReaderTest, NamesTheKeyTheExpressionAndTheRange) {
  static_cast<void>(read(R"({"i": "= n * 2"})").integer("i", {}, 0, 10));
  EXPECT_EQ(error(), "table.i = n * 2: 14 is not in 0 .. 10");
}

TEST_F(SpecTableReaderTest, NamesAKeyThatIsMissing) {
  static_cast<void>(read("{}").integer("i", {}, 0, 10));
  EXPECT_EQ(error(), "table.i: is missing");
}

TEST_F(SpecTableReaderTest, RefusesPartsOfANumberWhereAWholeOneIsNeeded) {
  static_cast<void>(read(R"({"i": 2.5})").integer("i", {}, 0, 10));
  EXPECT_EQ(error(), "table.i: 2.5E0 is not a whole number");
}

TEST_F(SpecTableReaderTest, RefusesOtherTypes) {
  static_cast<void>(read(R"({"l": ["a", 2]})").texts("l"));
  EXPECT_EQ(error(), R"(table.l: ["a",2] where a string or a list of strings is needed)");
}

TEST_F(SpecTableReaderTest, NamesTheChoicesThereAre) {
  const auto chosen = read(R"({"k": "c"})").choice<int>("k", {{"a", 1}, {"b", 2}});
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(error(), "table.k c: 'c' is not one of a, b");
}

}  // namespace
}  // namespace weft
