// `weft quantize` as a user runs it; smaller_models_test.cc has the tests that take long.

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "weft/core/io/file.h"
#include "weft/tests/cli/child_program.h"
#include "weft/tests/cli/commands/model_program.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

namespace fs = std::filesystem;

TEST(QuantizeVerb, TakesOtherTypesForTheTensorsThatAreNamed) {
  const TempFolder folder;
  const fs::path out = folder.path() / "mixed";
  const ProgramRun outcome = quantize(
      wide_model, out, "--type q3_b32 --tensor '*.v_proj.weight=q8_0' --tensor '*embed*=q8_b32'");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(tensors_in(out), AllOf(ContainsRegex("q3_b32 .*layers.3.self_attn.q_proj.weight"),
                                     ContainsRegex("q8_0 .*layers.3.self_attn.v_proj.weight"),
                                     ContainsRegex("q8_b32 .*embed_tokens.weight")));
  EXPECT_EQ(run_weft("generate " + shell_word(out) + "Hi --max-tokens 3").status, 0);
}

TEST(QuantizeVerb, MakesAGgufFileOfAGgufFile) {
  const fs::path model =
      source_path("../shared/data/models/stories260K/derived_gguf/stories260K-F32.gguf");
  if (!fs::exists(model)) GTEST_SKIP() << "no model at " << model;
  const TempFolder folder;
  const fs::path out = folder.path() / "small.gguf";
  const ProgramRun outcome = quantize(model, out, "--type q5_1");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(entries_in(folder.path()), 1);
  EXPECT_THAT(tensors_in(out), ContainsRegex("q5_1 .*blk.0.attn_q.weight"));
  EXPECT_THAT(run_weft("generate " + shell_word(out) + "'Once upon a time' --max-tokens 8").output,
              HasSubstr("there"));
  // A model whose weights are small already is refused.
  EXPECT_THAT(quantize(out, folder.path() / "smaller.gguf", "--type q4_0").output,
              AllOf(HasSubstr("is q5_1 already"), HasSubstr("'blk.0.attn_k.weight'")));
}

TEST(QuantizeVerb, MakesAGgufFileOfALlama2cFile) {
  const fs::path model = source_path("../shared/data/models/stories260K/stories260K.bin");
  if (!fs::exists(model)) GTEST_SKIP() << "no model at " << model;
  const TempFolder folder;
  const fs::path out = folder.path() / "stories.gguf";
  const ProgramRun outcome = quantize(model, out, "--type f32");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const std::string story = "'Once upon a time' --max-tokens 100";
  EXPECT_EQ(run_weft("generate " + shell_word(out) + story).output,
            run_weft("generate " + shell_word(model) + story).output);
}

TEST(QuantizeVerb, WritesWhatWeightsBecomeWhenTheyAreLoadedAsThatType) {
  const TempFolder folder;
  for (const std::string type : {"q4_k_m", "q3h", "f16"}) {
    const fs::path out = folder.path() / type;
    EXPECT_EQ(quantize(wide_model, out, "--type " + type).status, 0);
    const ProgramRun written = run_weft("logits " + shell_word(out) + "--text 'Once upon a time'");
    const ProgramRun loaded = run_weft("logits " + shell_word(wide_model) +
                                       "--text 'Once upon a time' --weights " + type);
    EXPECT_EQ(written.status, 0) << written.output;
    EXPECT_EQ(loaded.output, written.output) << type;
  }
  EXPECT_THAT(run_weft("logits " + shell_word(wide_model) + "--text Hi --weights q4_k_mm").output,
              AllOf(HasSubstr("q4_k_mm"), HasSubstr("near: q4_k_m")));
  EXPECT_THAT(
      run_weft("logits " + shell_word(folder.path() / "q3h") + "--text Hi --weights q8_0").output,
      HasSubstr("is q3h_b64 already"));
}

TEST(QuantizeVerb, ListsItsTypesOnHelp) {
  const ProgramRun help = run_weft("quantize --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("q4_k_m"), HasSubstr("iq2_xxs"), HasSubstr("q3h_b64"),
                                 HasSubstr("q3h = q3h_b64"), HasSubstr("--pure")));
}

TEST(QuantizeVerb, SaysWhatBecomesOfAFolderThatGgufHasNoNamesFor) {
  const TempFolder folder;
  const ProgramRun outcome = quantize(source_path("tests/model/data/goldens/codegen"),
                                      folder.path() / "out", "--type q4_k_m");
  EXPECT_THAT(outcome.output, HasSubstr("its layers' matrices become q4_k"));
}

TEST(QuantizeVerb, SaysWhatGgufCannot) {
  const TempFolder folder;
  const ProgramRun outcome = quantize(source_path("tests/model/data/goldens/codegen"),
                                      folder.path() / "out.gguf", "--type f16");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("codegen: GGUF has no architecture for this family"));
  EXPECT_EQ(entries_in(folder.path()), 0);
}

TEST(QuantizeVerb, LeavesNothingWhenItIsTerminated) {
  const TempFolder folder;
  // Slow enough to be met at work.
  ChildProgram child({"quantize", wide_model, (folder.path() / "small").string(), "--type",
                      "iq4_nl", "--tensor", "*embed*=iq4_nl", "--threads", "1"});
  while (entries_in(folder.path()) == 0 && child.is_running()) std::this_thread::yield();
  ASSERT_EQ(entries_in(folder.path()), 1) << "the hidden folder that it writes to";
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait(), 128 + SIGTERM);
  EXPECT_EQ(entries_in(folder.path()), 0);
}

TEST(QuantizeVerb, ReplacesNothing) {
  const TempFolder folder;
  const fs::path there = folder.write("there", "old");
  const ProgramRun outcome = quantize(wide_model, there, "--type q8_0");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("there"), HasSubstr("is not replaced")));
  EXPECT_EQ(*read_text_file(there, kAnySize), "old");
}

TEST(QuantizeVerb, LeavesNothingWhereThereIsNoRoom) {
  const TempFolder folder;
  // A file that may not grow has the effect of a full disk.
  const ProgramRun outcome = quantize(wide_model, folder.path() / "small", "--type q4_b64",
                                      "trap '' XFSZ; ulimit -f 1000; ");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("weft quantize: "), HasSubstr("model.safetensors"),
                                    HasSubstr("File too large")));
  EXPECT_EQ(entries_in(folder.path()), 0);
}

TEST(QuantizeVerb, NamesTheFlagThatIsWrong) {
  const TempFolder folder;
  const fs::path out = folder.path() / "small";
  const auto refusal = [&](const std::string& options, const fs::path& to) {
    const ProgramRun outcome = quantize(wide_model, to, options);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(entries_in(folder.path()), 0);
    return outcome.output;
  };
  EXPECT_THAT(refusal("--type q7", out), HasSubstr("--type: there is no type q7"));
  EXPECT_THAT(refusal("--type i8", out), HasSubstr("--type: there is no type i8"));
  EXPECT_THAT(refusal("--type nf4_64", out), HasSubstr("there is no quantizer for nf4_64"));
  EXPECT_THAT(refusal("--type Q4_K_N", out), HasSubstr("near: q4_k_m, q4_k_s"));
  EXPECT_THAT(refusal("--type IQ3", out), HasSubstr("near: iq3_m, iq3_s, iq3_xs, iq3_xxs"));
  EXPECT_THAT(refusal("--type 99", out), HasSubstr("no type 99"));
  EXPECT_THAT(refusal("--type q8_0 --tensor '*=q4_k_m'", out),
              HasSubstr("q4_k_m is a mix of types, and a tensor has one: q4_k"));
  // Without an importance matrix these would be noise.
  EXPECT_THAT(
      refusal("--type iq2_xs", out),
      AllOf(HasSubstr("--type iq2_xs: tensor 'model.layers.0."), HasSubstr("--importance")));
  EXPECT_THAT(refusal("--type q2_k_s", out.string() + ".gguf"), HasSubstr("'blk.0."));
  EXPECT_THAT(refusal("--type q8_0 --tensor q8_0", out), HasSubstr("must be PATTERN=TYPE"));
  EXPECT_THAT(refusal("--type q8_0 --tensor '*=q9'", out), HasSubstr("--tensor *=q9"));
  EXPECT_THAT(refusal("--type q8_b32", out.string() + ".gguf"),
              HasSubstr("q8_b32: GGUF does not have this type"));
  EXPECT_THAT(refusal("--type q8_0 --importance /no/such/file", out), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace weft::test
