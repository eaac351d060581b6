#include "weft/model/spec/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;

/// Fields of one object, and one tensor.
class Fields final : public ExpressionScope {
 public:
  [[nodiscard]] const boost::json::value* find(std::string_view name) const override {
    const auto* found = fields_.if_contains(name);
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  [[nodiscard]] bool states(std::string_view name) const override { return fields_.contains(name); }
  [[nodiscard]] std::vector<std::int64_t> shape_of(std::string_view tensor) const override {
    return tensor == "head" ? std::vector<std::int64_t>{50, 16} : std::vector<std::int64_t>();
  }
  [[nodiscard]] Result<boost::json::value> numbers_of(std::string_view tensor) const override {
    return tensor == "factors" ? boost::json::value(boost::json::array{1.5, 2})
                               : boost::json::value();
  }

 private:
  boost::json::object fields_ = boost::json::parse(R"({
      "hidden": 64, "heads": 8, "third": 3, "half": 0.5, "none": null, "yes": true, "word": "silu",
      "kinds": ["full", "sliding"], "rope": {"factor": 4.0, "type": "yarn"}, "rope.theta": 10000,
      "layers": {"1": {"heads": 4}}, "notable": 7, "order": 9, "inside": 11})")
                                    .get_object();
};

Result<boost::json::value> evaluate(std::string_view text) {
  const auto expression = Expression::parse(text);
  if (!expression) return expression.error();
  return expression->evaluate(Fields());
}

struct Case {
  const char* text;
  const char* value;  ///< as JSON
};

void PrintTo(const Case& each, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << each.text;
}

class ExpressionValueTest : public testing::TestWithParam<Case> {};

TEST_P(ExpressionValueTest, IsWhatItSays) {
  const auto got = evaluate(GetParam().text);
  ASSERT_TRUE(got) << to_string(got.error());
  EXPECT_EQ(boost::json::serialize(*got),
            boost::json::serialize(boost::json::parse(GetParam().value)));
}

INSTANTIATE_TEST_SUITE_P(Literals, ExpressionValueTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"12", "12"},
                             {"1e-6", "1e-6"},
                             {"0.5", "0.5"},
                             {"'a b'", R"("a b")"},
                             {"''", R"("")"},
                             {"true", "true"},
                             {"false", "false"},
                             {"null", "null"},
                             {"[]", "[]"},
                             {"[1, 'x', heads]", R"([1, "x", 8])"},
                         }));

INSTANTIATE_TEST_SUITE_P(Names, ExpressionValueTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"hidden", "64"},
                             {"missing", "null"},
                             {"none", "null"},
                             {"rope.theta", "10000"},
                             {"rope['factor']", "4.0"},
                             {"rope['missing']", "null"},
                             {"missing['field']", "null"},
                             {"layers[third - 2]['heads']", "4"},
                             {"layers[0]['heads']", "null"},
                             {"kinds[1]", R"("sliding")"},
                             {"kinds[third - 2]", R"("sliding")"},
                             // A name may begin with an operator's letters.
                             {"notable + order + inside", "27"},
                         }));

INSTANTIATE_TEST_SUITE_P(Arithmetic, ExpressionValueTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"hidden / heads", "8"},  // stays an integer when it divides evenly
                             {"hidden / third", "2.1333333333333333e1"},
                             {"hidden // third", "21"},
                             {"-7 // 2", "-4"},
                             {"hidden % third", "1"},
                             {"-7 % 3", "2"},
                             {"2 + 3 * 4", "14"},
                             {"(2 + 3) * 4", "20"},
                             {"10 - 3 - 2", "5"},
                             {"2 ** 3 ** 2", "512"},
                             {"-2 ** 2", "-4"},
                             {"4 ** -0.5", "0.5"},
                             {"2 * half", "1.0"},
                             {"--3", "3"},
                         }));

INSTANTIATE_TEST_SUITE_P(Conditions, ExpressionValueTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"missing ?? 5", "5"},
                             {"none ?? missing ?? 6", "6"},
                             {"false ?? 1", "false"},
                             {"missing ?? 2 == 2 ? 'a' : 'b'", R"("a")"},
                             {"yes ? 1 : 1 / 0", "1"},  // what is not chosen is not computed
                             {"0 ? 1 : '' ? 2 : [] ? 3 : 4", "4"},
                             {"heads == 8.0", "true"},
                             {"heads != 8", "false"},
                             {"word == 'silu' and heads > 4", "true"},
                             {"missing or word", R"("silu")"},
                             {"missing and 1 / 0", "null"},
                             {"not missing", "true"},
                             {"not 1 == 2", "true"},
                             {"true or false and false", "true"},
                             {"'full' in kinds", "true"},
                             {"'factor' in rope", "true"},
                             {"'x' in missing", "false"},
                             {"3 <= 3 and 3 >= 3 and 2 < 3", "true"},
                         }));

INSTANTIATE_TEST_SUITE_P(Functions, ExpressionValueTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"sqrt(hidden)", "8.0"},
                             {"log(1)", "0.0"},
                             {"floor(2.5)", "2"},
                             {"ceil(2.5)", "3"},
                             {"round(2.6)", "3"},
                             {"int(-2.6)", "-2"},
                             {"min(3, half, 2)", "0.5"},
                             {"max(3, half, 2)", "3"},
                             {"len(kinds)", "2"},
                             {"given('none')", "true"},
                             {"given('missing')", "false"},
                             {"has('head')", "true"},
                             {"has('other')", "false"},
                             {"rows('head')", "50"},
                             {"columns('head')", "16"},
                             {"rows('other')", "null"},
                             {"numbers('factors')", "[1.5, 2]"},
                             {"numbers('other')", "null"},
                             {"pick(kinds, 1)", R"("sliding")"},
                             {"pick(heads, 1)", "8"},
                             {"pick(missing, 1)", "null"},
                         }));

struct Failure {
  const char* text;
  ModelErrc code;
  const char* detail;
};

void PrintTo(const Failure& each, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << each.text;
}

class ExpressionErrorTest : public testing::TestWithParam<Failure> {};

TEST_P(ExpressionErrorTest, SaysWhatIsWrong) {
  EXPECT_THAT(evaluate(GetParam().text), FailsWith(GetParam().code, GetParam().detail));
}

constexpr auto kBadSpec = ModelErrc::kBadSpec;
constexpr auto kBadConfig = ModelErrc::kBadConfig;

INSTANTIATE_TEST_SUITE_P(Parsing, ExpressionErrorTest,
                         testing::ValuesIn(std::vector<Failure>{
                             {"", kBadSpec, "column 1: a value is missing"},
                             {"1 +", kBadSpec, "column 4: a value is missing"},
                             {"1 2", kBadSpec, "column 3: an operator is missing"},
                             {"(1", kBadSpec, "column 3: ')' expected"},
                             {"[1 2]", kBadSpec, "column 4: ',' expected"},
                             {"a[1", kBadSpec, "column 4: ']' expected"},
                             {"a ? 1", kBadSpec, "column 6: ':' expected"},
                             {"'open", kBadSpec, "column 1: the string does not end"},
                             {"a = 1", kBadSpec, "column 3: an operator is missing"},
                             {"#", kBadSpec, "column 1: a value is missing"},
                         }));

INSTANTIATE_TEST_SUITE_P(Evaluating, ExpressionErrorTest,
                         testing::ValuesIn(std::vector<Failure>{
                             {"missing * 2", kBadConfig, "missing (missing)"},
                             {"none + 1", kBadConfig, "none (missing)"},
                             {"word / 2", kBadConfig, R"(word = "silu" where a number is needed)"},
                             {"2 / (third - 3)", kBadConfig, "a divisor that is not 0"},
                             {"1 % 0", kBadConfig, "a divisor that is not 0"},
                             {"kinds[2]", kBadConfig, "an index below 2"},
                             {"kinds[-1]", kBadConfig, "an index below 2"},
                             {"kinds['a']", kBadConfig, "an index below 2"},
                             {"hidden[0]", kBadConfig, "hidden = 64 where a list is needed"},
                             {"1 in hidden", kBadConfig, "where a list is needed"},
                             {"len(hidden)", kBadConfig, "where a list is needed"},
                             {"sqrt(word)", kBadConfig, "where a number is needed"},
                             {"-word", kBadConfig, "where a number is needed"},
                             {"max(1, word)", kBadConfig, "where a number is needed"},
                             {"has(1)", kBadConfig, "a tensor's name"},
                             {"numbers(1)", kBadConfig, "a tensor's name"},
                             {"pick(kinds, 2)", kBadConfig, "an index below 2"},
                             {"pick(kinds)", kBadSpec, "pick() with 1 arguments is not known"},
                             {"given(1)", kBadConfig, "a field's name"},
                             {"sin(1)", kBadSpec, "sin() with 1 arguments is not known"},
                             {"sqrt(1, 2)", kBadSpec, "sqrt() with 2 arguments is not known"},
                             {"max()", kBadSpec, "max() with 0 arguments is not known"},
                         }));

TEST(ExpressionTest, BoundsNestingWhereverItCanNest) {
  const auto repeat = [](std::string_view text) {
    std::string all;
    for (int i = 0; i < 100'000; ++i) all.append(text);
    return all;
  };
  for (const char* opening : {"(", "[", "-", "not ", "sqrt(", "1 ? ", "2 ** ", "a["}) {
    EXPECT_THAT(Expression::parse(repeat(opening) + "1"),
                FailsWith(ModelErrc::kBadSpec, "nested too deeply"))
        << opening;
  }
}

TEST(ExpressionTest, TakesLongChainsThatDoNotNest) {
  std::string sum = "1";
  for (int i = 0; i < 50; ++i) sum.append(" + 1");
  EXPECT_EQ(evaluate(sum).value(), boost::json::value(51));
}

TEST(ExpressionTest, TellsItsNamesWithTheirValues) {
  const auto expression = Expression::parse("not rope.theta or word == 'x' or missing or word");
  EXPECT_EQ(expression.value().names_with_values(Fields()),
            R"(rope.theta = 10000, word = "silu", missing = null)");
}

TEST(ExpressionTest, GivesIntegersPastTheExactRangeAsReals) {
  EXPECT_TRUE(evaluate("2 ** 52").value().is_int64());
  EXPECT_TRUE(evaluate("2 ** 60").value().is_double());
}

}  // namespace
}  // namespace weft
