// Perplexities beside transformers' numbers for the same windows; make_perplexity.py wrote them.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/core/io/file.h"
#include "weft/tests/cli/commands/model_program.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace json = boost::json;

const std::string measured_model = shell_word(wide_model);
const std::string measured_text = shell_word(source_path("tests/cli/commands/data/perplexity.txt"));

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
        numbers_of(model + measured_text + "--context " + std::to_string(context) + " --stride " +
                   std::to_string(window.at("stride").as_int64()));
    const double perplexity = window.at("perplexity").as_double();
    EXPECT_EQ(found.at("tokens"), expected.at("tokens"));
    EXPECT_EQ(found.at("scored"), window.at("scored"));
    EXPECT_NEAR(found.at("perplexity").at("value").as_double(), perplexity, 1e-3 * perplexity);
    const double error = window.at("error").as_double();
    EXPECT_NEAR(found.at("perplexity").at("error").as_double(), error, 1e-3 * error);
  }
}

TEST(PerplexityNumbers, GivesTransformersNumbersForTheDemoModel) {
  expect_transformers_numbers("demo_model", measured_model);
}

TEST(PerplexityNumbers, GivesTransformersNumbersForAModelThatOthersTrained) {
  const std::string model = source_path("../shared/data/models/stories260K/derived_hf");
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no model at " << model;
  expect_transformers_numbers("stories260K", shell_word(model));
}

TEST(PerplexityNumbers, FindsNoDifferenceBetweenAModelAndItself) {
  const ProgramRun outcome = run_weft("perplexity " + measured_model + measured_text +
                                      "--context 512 --stride 512 --against " + measured_model);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("perplexity  3."), HasSubstr("ratio       1.00000 "),
                                    HasSubstr("mean 0.000000"), HasSubstr("100.00 %")));
}

TEST(PerplexityNumbers, ComparesWeightsOfATypeWithTheWeightsAsTheyStand) {
  const ProgramRun outcome =
      run_weft("perplexity " + measured_model + measured_text +
               "--context 512 --stride 512 --weights q2_b32 --against " + measured_model);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("ratio       1.00000 ")));
}

}  // namespace
}  // namespace weft::test
