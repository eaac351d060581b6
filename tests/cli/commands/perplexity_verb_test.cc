// Perplexities beside transformers' numbers for the same windows; make_perplexity.py wrote them.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <string>

#include "weft/core/io/file.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace json = boost::json;

std::string in_shell(const std::string& path) { return '"' + path + "\" "; }

const std::string scored_model = in_shell(source_path("examples/demo_model/model"));
const std::string scored_text = in_shell(source_path("tests/cli/commands/data/perplexity.txt"));

json::value numbers_of(const std::string& arguments) {
  const ProgramRun outcome = run_weft("perplexity " + arguments + " --json");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  json::error_code error;
  json::value value = json::parse(outcome.output, error);
  EXPECT_FALSE(error) << error.message() << " in " << outcome.output.substr(0, 200);
  return value;
}

void expect_transformers_numbers(const std::string& name, const std::string& model) {
  const auto text =
      read_text_file(source_path("tests/cli/commands/data/perplexity.json"), kAnySize);
  ASSERT_TRUE(text) << to_string(text.error());
  const json::value expected = json::parse(*text).at(name);
  for (const json::value& window : expected.at("cases").as_array()) {
    const std::int64_t context = window.at("context").as_int64();
    const json::value found =
        numbers_of(model + scored_text + "--context " + std::to_string(context) + " --stride " +
                   std::to_string(window.at("stride").as_int64()));
    const double perplexity = window.at("perplexity").as_double();
    EXPECT_EQ(found.at("tokens"), expected.at("tokens"));
    EXPECT_EQ(found.at("scored"), window.at("scored"));
    EXPECT_NEAR(found.at("perplexity").at("value").as_double(), perplexity, 1e-3 * perplexity);
    const double error = window.at("error").as_double();
    EXPECT_NEAR(found.at("perplexity").at("error").as_double(), error, 1e-3 * error);
  }
}

TEST(PerplexityVerb, GivesTransformersNumbersForTheDemoModel) {
  expect_transformers_numbers("demo_model", scored_model);
}

TEST(PerplexityVerb, GivesTransformersNumbersForAModelThatOthersTrained) {
  const std::string model = source_path("../shared/data/models/stories260K/derived_hf");
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no model at " << model;
  expect_transformers_numbers("stories260K", in_shell(model));
}

TEST(PerplexityVerb, FindsNoDifferenceBetweenAModelAndItself) {
  const ProgramRun outcome = run_weft("perplexity " + scored_model + scored_text +
                                      "--context 512 --stride 512 --against " + scored_model);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("perplexity  3."), HasSubstr("ratio       1.00000 "),
                                    HasSubstr("mean 0.000000"), HasSubstr("100.00 %")));
}

std::string perplexity_refusal(const std::string& arguments, const std::string& before = {}) {
  const ProgramRun outcome = run_weft("perplexity " + arguments, before);
  EXPECT_EQ(outcome.status, 1);
  return outcome.output;
}

TEST(PerplexityVerb, NamesWhatIsWrongWithTheText) {
  EXPECT_THAT(perplexity_refusal(scored_model + "/no/such/text"), HasSubstr("/no/such/text"));
  EXPECT_THAT(perplexity_refusal(scored_model + "- < /dev/null"), HasSubstr("0 tokens"));
  const TempFolder folder;
  const auto broken = folder.write("broken.txt", "abc\xff");
  EXPECT_THAT(perplexity_refusal(scored_model + broken.string()),
              AllOf(HasSubstr("broken.txt"), HasSubstr("byte 3 is not UTF-8")));
}

TEST(PerplexityVerb, NamesTheWindowThatIsTooLarge) {
  EXPECT_THAT(perplexity_refusal(scored_model + scored_text + "--context 8193"),
              AllOf(HasSubstr("--context 8193"), HasSubstr("8192")));
  EXPECT_THAT(perplexity_refusal(scored_model + scored_text + "--context 64 --stride 65"),
              AllOf(HasSubstr("--stride 65"), HasSubstr("64")));
}

TEST(PerplexityVerb, RefusesModelsThatCannotBeCompared) {
  const std::string goldens = source_path("tests/model/data/goldens/");
  EXPECT_THAT(perplexity_refusal(in_shell(goldens + "bert") + scored_text),
              HasSubstr("goldens/bert: "));
  const std::string other = source_path("../shared/data/models/stories260K/derived_hf");
  if (!std::filesystem::exists(other)) GTEST_SKIP() << "no model at " << other;
  EXPECT_THAT(perplexity_refusal(scored_model + scored_text + "--against " + in_shell(other)),
              AllOf(HasSubstr("--against"), HasSubstr("512"), HasSubstr("2048")));
}

}  // namespace
}  // namespace weft::test
