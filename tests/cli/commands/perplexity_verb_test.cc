// Refusals of `weft perplexity`. perplexity_numbers_test.cc checks its numbers.

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "weft/tests/cli/commands/model_program.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string scored_model = shell_word(wide_model);
const std::string scored_text = shell_word(source_path("tests/cli/commands/data/perplexity.txt"));

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
  EXPECT_THAT(perplexity_refusal(shell_word(goldens + "bert") + scored_text),
              HasSubstr("goldens/bert: "));
  const std::string other = source_path("../shared/data/models/stories260K/derived_hf");
  if (!std::filesystem::exists(other)) GTEST_SKIP() << "no model at " << other;
  EXPECT_THAT(perplexity_refusal(scored_model + scored_text + "--against " + shell_word(other)),
              AllOf(HasSubstr("--against"), HasSubstr("512"), HasSubstr("2048")));
}

}  // namespace
}  // namespace weft::test
