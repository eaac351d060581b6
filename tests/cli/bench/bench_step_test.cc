// `weft bench step`, run as a user runs it.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string small =
    "bench step --shape llama-110m --layers 1 --batch 1,2 --context 16 --prefill 8 --steps 1 "
    "--repeats 2 ";
const std::string demo_model = '"' + source_path("examples/demo_model/model") + "\" ";

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(BenchStepVerb, MeasuresAShapeWithoutACheckpointAndSaysThatItIsCut) {
  const TempFolder folder;
  const std::string json = (folder.path() / "steps.json").string();
  const std::string html = (folder.path() / "steps.html").string();
  const ProgramRun outcome = run_weft(small + "--json " + json + " --html " + html);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("llama-110m"), HasSubstr("cut to 1 of its 12"),
                                    HasSubstr("of limit"), HasSubstr("GB/s")));
  const boost::json::value report = boost::json::parse(text_of(json));
  const auto& decode = report.at("data").at("decode").as_array();
  ASSERT_EQ(decode.size(), 2U);
  EXPECT_EQ(decode[1].at("batch").as_int64(), 2);
  EXPECT_EQ(decode[1].at("context").as_int64(), 16);
  EXPECT_GT(decode[1].at("seconds").at("median").as_double(), 0);
  EXPECT_EQ(report.at("data").at("prefill").as_array().size(), 1U);
  EXPECT_THAT(text_of(html), HasSubstr("llama-110m"));
}

TEST(BenchStepVerb, MeasuresACheckpointWithinItsContext) {
  // The demo model's context has 8192 positions.
  const ProgramRun whole = run_weft("bench step " + demo_model +
                                    "--batch 2 --context 4 --prefill 0 --steps 1 --repeats 1");
  EXPECT_EQ(whole.status, 0) << whole.output;
  const ProgramRun over = run_weft("bench step " + demo_model + "--context 16384");
  EXPECT_EQ(over.status, 1);
  EXPECT_THAT(over.output, HasSubstr("--context 16384: the model knows 8192 positions"));
}

TEST(BenchStepVerb, WantsAModelOrAShapeAndNotBoth) {
  for (const std::string& arguments : {std::string(), demo_model + "--shape llama-110m"}) {
    const ProgramRun outcome = run_weft("bench step " + arguments);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.output, HasSubstr("give either MODEL or --shape"));
  }
}

TEST(BenchStepVerb, NamesTheShapesThatThereAre) {
  const ProgramRun outcome = run_weft("bench step --shape llama-9b");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("weft bench step: --shape llama-9b"),
                                    HasSubstr("llama-110m, tinyllama-1.1b, llama-2-7b")));
}

TEST(BenchStepVerb, NamesTheFlagThatIsWrong) {
  const auto error = [](const std::string& arguments) {
    const ProgramRun outcome = run_weft("bench step " + arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    return outcome.output;
  };
  EXPECT_THAT(error(demo_model + "--layers 2"), HasSubstr("--layers: only with --shape"));
  EXPECT_THAT(error("--shape llama-110m --layers 13"), HasSubstr("--layers 13: llama-110m has 12"));
  EXPECT_THAT(error("--shape llama-110m --spec a.toml"), HasSubstr("--spec: only with MODEL"));
  EXPECT_THAT(error("--shape llama-110m --batch 1,x"), HasSubstr("--batch"));
  EXPECT_THAT(error("--shape llama-110m --context 0"), HasSubstr("--context"));
  EXPECT_THAT(error("--shape llama-110m --kv-dtype f64"), HasSubstr("--kv-dtype"));
  EXPECT_THAT(error("--shape llama-110m --batch 0 --prefill 0"), HasSubstr("nothing to measure"));
  EXPECT_THAT(error("--shape llama-110m --layers 1 --device tpu:0"), HasSubstr("--device tpu:0"));
}

TEST(BenchStepVerb, SaysWhatDoesNotFitIntoMemory) {
  const ProgramRun outcome =
      run_weft("bench step --shape llama-110m --layers 1 --batch 60000 --context 1024");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("--batch 60000 at --context 1024"), HasSubstr("MiB")));
}

TEST(BenchStepVerb, LooksWhetherItsFilesCanBeWrittenBeforeItMeasures) {
  const ProgramRun outcome = run_weft(small + "--json /nowhere/steps.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("--json /nowhere/steps.json: No such file"));
}

}  // namespace
}  // namespace weft::test
