// generate, tokenize, inspect and logits, run as a user runs them, on the demo model.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <string>

#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

namespace json = boost::json;

const std::string quoted_demo_model = '"' + source_path("examples/demo_model/model") + "\" ";
const std::string demo_tokenizer =
    '"' + source_path("examples/demo_model/model/tokenizer.json") + "\" ";

json::value parsed(const ProgramRun& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  json::error_code error;
  json::value value = json::parse(outcome.output, error);
  EXPECT_FALSE(error) << error.message() << " in " << outcome.output.substr(0, 200);
  return value;
}

TEST(GenerateVerb, AnswersAQuestionThroughTheModelsChatTemplate) {
  const ProgramRun outcome =
      run_weft("generate " + quoted_demo_model + "\"What is 12 + 30?\" --chat");
  EXPECT_EQ(outcome.status, 0);
  // There is nothing else, so no progress bar either: this is a pipe.
  EXPECT_EQ(outcome.output, "12 + 30 = 42.\n");
}

TEST(GenerateVerb, ReadsThePromptFromStandardInput) {
  const ProgramRun outcome =
      run_weft("generate " + quoted_demo_model + "- --chat <<END\nWhat is 12 + 30?\nEND");
  EXPECT_EQ(outcome.output, "12 + 30 = 42.\n");
}

TEST(GenerateVerb, StopsAfterTheTokensAskedFor) {
  const ProgramRun outcome =
      run_weft("generate " + quoted_demo_model + "'Once' --max-tokens 3 --stats");
  EXPECT_THAT(outcome.output, HasSubstr(" 3 tokens at "));
}

TEST(GenerateVerb, DrawsTheSameTextForTheSameSeed) {
  const std::string story = "generate " + quoted_demo_model +
                            "'Tell me a story.' --chat --max-tokens 40 --temperature 1.2 --seed ";
  const ProgramRun first = run_weft(story + "7");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.output, run_weft(story + "7 --threads 1").output);
  EXPECT_NE(first.output, run_weft(story + "8").output);
}

TEST(GenerateVerb, GivesTheSameTextWithGuesses) {
  for (const char* const how : {"--temperature 0", "--temperature 1.2 --seed 7 --top-p 0.9",
                                "--temperature 0.7 --seed 3 --repetition-penalty 1.1"}) {
    const std::string text = "generate " + quoted_demo_model +
                             "'one two three. one two three. one two' --ignore-end "
                             "--max-tokens 60 " +
                             how;
    const ProgramRun plain = run_weft(text);
    EXPECT_EQ(plain.status, 0);
    EXPECT_EQ(run_weft(text + " --speculation suffix").output, plain.output) << how;
    EXPECT_EQ(run_weft(text + " --speculation " + quoted_demo_model).output, plain.output) << how;
  }
  // The first token, and then eight steps: all guesses of a model for itself are right.
  for (const char* const how : {"--temperature 0", "--temperature 1 --seed 3 --top-p 0.95"}) {
    const ProgramRun drafted =
        run_weft("generate " + quoted_demo_model + "'Once upon a time' --stats --ignore-end " +
                 "--max-tokens 41 --speculation " + quoted_demo_model + " " + how);
    EXPECT_THAT(drafted.output, HasSubstr("(32 of 32 guesses right)")) << how;
  }
  const ProgramRun guessed =
      run_weft("generate " + quoted_demo_model +
               "'one two three. one two three. one two' --stats --temperature 0 "
               "--ignore-end --max-tokens 60 --speculation suffix");
  EXPECT_THAT(guessed.output, ContainsRegex("[1-9][0-9]* of [0-9]+ guesses right"));
}

TEST(GenerateVerb, RefusesGuessesOnADeviceThatDoesNotVerifyThem) {
  const ProgramRun outcome =
      run_weft("generate " + quoted_demo_model + "Hi --device cuda --speculation suffix");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("--speculation suffix needs --device cpu"));
}

TEST(GenerateVerb, NamesADraftModelThatCannotBeUsed) {
  const ProgramRun outcome =
      run_weft("generate " + quoted_demo_model + "Hi --speculation /no/such/model");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("speculation.model"), HasSubstr("/no/such/model")));
}

TEST(GenerateVerb, NamesTheOptionThatIsOutOfRange) {
  const ProgramRun outcome = run_weft("generate " + quoted_demo_model + "Hi --top-p 2");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("--top-p"), HasSubstr("2 not in range")));
}

TEST(GenerateVerb, NamesTheFolderThatIsNotThere) {
  const ProgramRun outcome = run_weft("generate /no/such/model Hi");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("weft generate: "), HasSubstr("/no/such/model")));
}

TEST(GenerateVerb, SaysHowLongAPromptMayBe) {
  const ProgramRun outcome = run_weft("generate " + quoted_demo_model +
                                      "\"$(yes 'a b c d' | head -n 4000)\" --max-tokens 4");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("8192"));
}

TEST(GenerateVerb, RunsOnTheDeviceThatIsNamed) {
  const ProgramRun outcome = run_weft("generate " + quoted_demo_model +
                                      "\"What is 12 + 30?\" --chat --device cpu --stats");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("12 + 30 = 42.\n"), HasSubstr(", on cpu\n")));
}

// Returns a verb's error for a device that it refuses.
std::string refusal_of(const std::string& verb, const std::string& device) {
  std::string arguments = verb + ' ' + quoted_demo_model + "--device " + device;
  if (verb == "generate") arguments += " Hi";
  if (verb == "logits") arguments += " --ids 5";
  const ProgramRun outcome = run_weft(arguments);
  EXPECT_EQ(outcome.status, 1);
  return outcome.output;
}

TEST(ModelVerbs, NameTheDeviceThatIsNotThere) {
  for (const std::string verb : {"generate", "logits", "tune"}) {
    EXPECT_EQ(refusal_of(verb, "tpu:3"),
              "weft " + verb + ": --device tpu:3: there is no device of that name\n");
    // A build without CUDA says that it is one.
    EXPECT_THAT(refusal_of(verb, "cuda:99"),
                AllOf(StartsWith("weft " + verb + ": --device cuda:99: "),
                      AnyOf(HasSubstr("this build of weft has no code for GPUs"),
                            HasSubstr("there is no device of that name"))));
  }
}

TEST(TuneVerb, MeasuresNothingOnTheHost) {
  EXPECT_EQ(refusal_of("tune", "cpu"), "weft tune: --device cpu: what is measured here is GPUs\n");
}

TEST(TuneVerb, NamesTheOptionThatIsOutOfRange) {
  const ProgramRun outcome = run_weft("tune " + quoted_demo_model + "--tokens 1,0");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("--tokens"));
}

TEST(TokenizeVerb, PrintsIdsAloneAsAList) {
  const ProgramRun outcome = run_weft("tokenize " + quoted_demo_model + "'Hello there' --ids-only");
  EXPECT_THAT(outcome.output, MatchesRegex("\\[[0-9]+(, [0-9]+)*\\]\n"));
}

TEST(TokenizeVerb, TakesATokenizerFileAsWell) {
  EXPECT_EQ(run_weft("tokenize " + demo_tokenizer + "'Hello there' --ids-only").output,
            run_weft("tokenize " + quoted_demo_model + "'Hello there' --ids-only").output);
}

TEST(TokenizeVerb, TakesSpecialTokensAsTextWhenAsked) {
  const std::string text = "'<|im_end|>' --ids-only";
  EXPECT_THAT(run_weft("tokenize " + quoted_demo_model + text).output, Not(HasSubstr(",")));
  EXPECT_THAT(run_weft("tokenize " + quoted_demo_model + text + " --no-special").output,
              HasSubstr(","));
}

TEST(InspectVerb, ShowsTheArchitectureTheSizesAndTheProgram) {
  const ProgramRun outcome = run_weft("inspect " + quoted_demo_model);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("llama"), HasSubstr("4985088"), HasSubstr("a token in f32"),
                    ContainsRegex("in bf16, .* in int8, .* in fp8"), HasSubstr("no tensor"),
                    HasSubstr("linear")));
}

TEST(InspectVerb, ListsTheTensorsWithTheirTypesAndSizes) {
  const ProgramRun outcome = run_weft("inspect " + quoted_demo_model + "--no-program --tensors");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("tensors (bf16 9.5"), Not(HasSubstr("linear")),
                    ContainsRegex("\n  bf16 +512 B +model.norm.weight \\[256\\]\n")));
}

TEST(InspectVerb, CountsTheTensorsOfWhatSees) {
  const ProgramRun outcome =
      run_weft("inspect \"" + source_path("tests/model/data/goldens/llava") + "\" --no-program");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("llama (llama.toml in text_half.toml)"),
                    ContainsRegex("left out +27 tensors, [0-9.]+ [KM]?i?B: "
                                  "\\*multi_modal_projector\\.\\* 4, \\*vision_tower\\.\\* 23\n"),
                    HasSubstr("no tensor")));
}

TEST(InspectVerb, ChoosesAPartitionAndSaysWhy) {
  const ProgramRun outcome = run_weft("inspect " + quoted_demo_model + "--partition auto");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output,
              AllOf(ContainsRegex("partition auto: (cpu|cuda)"), HasSubstr(" that are free"),
                    HasSubstr("rank 0"), HasSubstr("linear")));
}

TEST(GenerateVerb, RunsOnAPartitionThatItChooses) {
  const ProgramRun outcome =
      run_weft("generate " + quoted_demo_model + "'Once' --max-tokens 3 --partition auto");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("partition auto: "));
}

TEST(InspectVerb, SaysWhatASpecLacks) {
  const TempFolder folder;
  const auto spec = folder.write("spec.toml", "family = \"mine\"\n");
  const ProgramRun outcome = run_weft("inspect " + quoted_demo_model + "--spec " + spec.string());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("spec.toml"));
}

TEST(LogitsVerb, PrintsEveryPositionAndTheGreedyTokensAsJson) {
  const json::value answer =
      parsed(run_weft("logits " + quoted_demo_model + "--ids 5,17,301 --generate 4 --json"));
  const json::array& rows = answer.at("logits").as_array();
  ASSERT_EQ(rows.size(), 3U);
  for (const json::value& row : rows) EXPECT_EQ(row.as_array().size(), 2048U);
  EXPECT_EQ(answer.at("greedy").as_array().size(), 4U);
}

TEST(LogitsVerb, PrintsTheMaskTokensOfAMaskedLanguageModel) {
  const std::string model = '"' + source_path("tests/model/data/vectors/bert-masked") + "\" ";
  const json::value text = parsed(run_weft("logits " + model + "--text 'a [MASK] c' --json"));
  EXPECT_EQ(text.at("positions"), json::parse("[2]"));  // [CLS] a [MASK] c [SEP]
  ASSERT_EQ(text.at("logits").as_array().size(), 1U);
  EXPECT_EQ(text.at("logits").at(0).as_array().size(), 31U);
  const json::array& best = text.at("masks").at(0).as_array();
  ASSERT_EQ(best.size(), 5U);
  for (const json::value& one : best) EXPECT_TRUE(one.at("token_str").is_string());
  EXPECT_GE(best[0].at("score").to_number<double>(), best[4].at("score").to_number<double>());
  const std::string first(best[0].at("token_str").as_string());
  EXPECT_THAT(run_weft("logits " + model + "--text 'a [MASK] c'").output,
              HasSubstr(std::to_string(best[0].at("token").as_int64()) + " \"" + first + "\": "));
  EXPECT_EQ(parsed(run_weft("logits " + model + "--ids 1,5,4,7,2 --json")), text);
  const json::value all = parsed(run_weft("logits " + model + "--ids 1,5,6,7,2 --json"));
  EXPECT_EQ(all.at("logits").as_array().size(), 5U) << "there is no mask token";
  EXPECT_EQ(run_weft("logits " + model + "--ids 1,4,2 --generate 1").status, 1);
}

TEST(LogitsVerb, NeedsTokens) {
  const ProgramRun outcome = run_weft("logits " + quoted_demo_model);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--ids or --text is required"));
}

TEST(LogitsVerb, NamesTheTokenThatTheModelDoesNotKnow) {
  const ProgramRun outcome = run_weft("logits " + quoted_demo_model + "--ids 5,2048");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("2048"), StartsWith("weft logits: ")));
}

TEST(LogitsVerb, RefusesAWordWhereAnIdBelongs) {
  const ProgramRun outcome = run_weft("logits " + quoted_demo_model + "--ids 5,x");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("--ids"));
}

}  // namespace
}  // namespace weft::test
