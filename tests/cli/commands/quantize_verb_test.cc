// Smaller models made of the demo model, run as a user runs them.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/tests/cli/child_program.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

namespace fs = std::filesystem;
namespace json = boost::json;

const std::string wide_model = source_path("examples/demo_model/model");

std::string shell_word(const fs::path& path) { return '"' + path.string() + "\" "; }

ProgramRun quantize(const fs::path& model, const fs::path& out, const std::string& options,
                    const std::string& before = {}) {
  return run_weft("quantize " + shell_word(model) + shell_word(out) + options, before);
}

/// The perplexity of a model of the demo model's vocabulary, over the demo model's.
double perplexity_ratio(const fs::path& model) {
  const ProgramRun outcome =
      run_weft("perplexity " + shell_word(model) +
               shell_word(source_path("tests/cli/commands/data/perplexity.txt")) +
               "--context 512 --stride 512 --json --against " + shell_word(wide_model));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return json::parse(outcome.output).at("ratio").at("value").as_double();
}

std::ptrdiff_t entries_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(QuantizeVerb, MakesAFolderThatIsAModel) {
  const TempFolder folder;
  const fs::path out = folder.path() / "small";
  const ProgramRun outcome = quantize(wide_model, out, "--type q6_b64");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("small: [0-9.]+ MB of 10.0 MB, 56 of 74 tensors"));
  EXPECT_EQ(entries_in(folder.path()), 1) << "something was left beside it";
  EXPECT_THAT(run_weft("inspect " + shell_word(out) + "--no-program --tensors").output,
              AllOf(ContainsRegex("q6_b64 .*model.layers.7.mlp.down_proj.weight"),
                    ContainsRegex("bf16 .*model.embed_tokens.weight")));
  EXPECT_EQ(run_weft("generate " + shell_word(out) + "\"What is 12 + 30?\" --chat").output,
            "12 + 30 = 42.\n");
  EXPECT_NEAR(perplexity_ratio(out), 1, 0.02);
}

TEST(QuantizeVerb, TakesOtherTypesForTheTensorsThatAreNamed) {
  const TempFolder folder;
  const fs::path out = folder.path() / "mixed";
  const ProgramRun outcome = quantize(
      wide_model, out, "--type q3_b32 --tensor '*.v_proj.weight=q8_0' --tensor '*embed*=q8_b32'");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(run_weft("inspect " + shell_word(out) + "--no-program --tensors").output,
              AllOf(ContainsRegex("q3_b32 .*layers.3.self_attn.q_proj.weight"),
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
  EXPECT_THAT(run_weft("inspect " + shell_word(out) + "--no-program --tensors").output,
              ContainsRegex("q5_1 .*blk.0.attn_q.weight"));
  EXPECT_THAT(run_weft("generate " + shell_word(out) + "'Once upon a time' --max-tokens 8").output,
              HasSubstr("there"));
  // What is small already is not made of.
  EXPECT_THAT(quantize(out, folder.path() / "smaller.gguf", "--type q4_0").output,
              AllOf(HasSubstr("is q5_1 already"), HasSubstr("'blk.0.attn_k.weight'")));
}

TEST(QuantizeVerb, MakesAGgufFileOfAFolder) {
  const TempFolder folder;
  const fs::path out = folder.path() / "demo.gguf";
  const ProgramRun outcome = quantize(wide_model, out, "--type bf16");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(entries_in(folder.path()), 1) << "something was left beside it";
  EXPECT_EQ(run_weft("generate " + shell_word(out) + "\"What is 12 + 30?\" --chat").output,
            "12 + 30 = 42.\n");
  // Heads' numbers stand in another order, so sums are rounded otherwise.
  EXPECT_NEAR(perplexity_ratio(out), 1, 1e-3);
  // And at once in another type.
  const fs::path small = folder.path() / "small.gguf";
  EXPECT_EQ(quantize(wide_model, small, "--type q8_0 --tensor '*token_embd*=q8_0'").status, 0);
  EXPECT_THAT(
      run_weft("inspect " + shell_word(small) + "--no-program --tensors").output,
      AllOf(ContainsRegex("q8_0 .*blk.3.attn_q.weight"), ContainsRegex("q8_0 .*token_embd.weight"),
            ContainsRegex("f32 .*blk.3.attn_norm.weight")));
  EXPECT_NEAR(perplexity_ratio(small), 1, 0.02);
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

/// The lines of a model's tensors.
std::string tensors_in(const fs::path& model) {
  return run_weft("inspect " + shell_word(model) + "--no-program --tensors").output;
}

/// general.file_type of a GGUF file, a u32.
std::uint32_t file_type_in(const fs::path& file) {
  const std::string bytes = *read_text_file(file, kAnySize);
  const std::string key = "general.file_type";
  const std::size_t at = bytes.find(key);
  std::uint32_t number = 0;
  if (at == std::string::npos) return ~number;
  std::memcpy(&number, bytes.data() + at + key.size() + sizeof(number), sizeof(number));
  return number;
}

TEST(QuantizeVerb, MixesTypesAsLlamaCppDoesInAFileAndInAFolder) {
  const TempFolder folder;
  const fs::path file = folder.path() / "mixed.gguf";
  EXPECT_EQ(quantize(wide_model, file, "--type MOSTLY_Q4_K_M").status, 0);
  EXPECT_THAT(tensors_in(file),
              AllOf(ContainsRegex("q6_k .*token_embd.weight"), ContainsRegex("q6_k .*blk.0.attn_v"),
                    ContainsRegex("q4_k .*blk.1.attn_v"), ContainsRegex("q6_k .*blk.7.ffn_down"),
                    ContainsRegex("q4_k .*blk.0.attn_q"), ContainsRegex("f32 .*blk.0.attn_norm")));
  EXPECT_EQ(file_type_in(file), 15U);
  EXPECT_NEAR(perplexity_ratio(file), 1, 0.1);
  const fs::path other = folder.path() / "mixed";
  EXPECT_EQ(quantize(wide_model, other, "--type 15").status, 0);
  EXPECT_THAT(tensors_in(other), AllOf(ContainsRegex("q6_k .*model.embed_tokens.weight"),
                                       ContainsRegex("q6_k .*layers.0.self_attn.v_proj"),
                                       ContainsRegex("q4_k .*layers.1.self_attn.v_proj"),
                                       ContainsRegex("q6_k .*layers.7.mlp.down_proj"),
                                       ContainsRegex("q4_k .*layers.0.self_attn.q_proj")));
  EXPECT_NEAR(perplexity_ratio(other), 1, 0.1);
}

TEST(QuantizeVerb, MakesEveryMatrixOneTypeWhenItIsPure) {
  const TempFolder folder;
  const fs::path out = folder.path() / "pure.gguf";
  EXPECT_EQ(quantize(wide_model, out, "--type q4_k --pure").status, 0);
  EXPECT_THAT(tensors_in(out), AllOf(ContainsRegex("q4_k .*token_embd.weight"),
                                     ContainsRegex("q4_k .*blk.0.attn_v.weight")));
  const fs::path other = folder.path() / "pure";
  EXPECT_EQ(quantize(wide_model, other, "--type q4_b64 --pure").status, 0);
  EXPECT_THAT(tensors_in(other), ContainsRegex("q4_b64 .*model.embed_tokens.weight"));
}

TEST(QuantizeVerb, KnowsInferflowsNames) {
  const TempFolder folder;
  int number = 0;
  for (const auto& [typed, type] : {std::pair{"Q3H", "q3h_b64"},
                                    {"q4", "q4_b32"},
                                    {"Q4_B64T1", "q4_b64"},
                                    {"q2_b32t1a", "q2_b32"}}) {
    const fs::path out = folder.path() / std::to_string(number++);
    EXPECT_EQ(quantize(wide_model, out, std::string("--type ") + typed).status, 0) << typed;
    EXPECT_THAT(tensors_in(out), ContainsRegex(std::string(type) + " .*q_proj")) << typed;
  }
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
  // A file that may not grow is what a full disk is to a writer.
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
