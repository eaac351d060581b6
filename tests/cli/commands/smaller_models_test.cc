// Smaller models made of the demo model as a user makes them: their contents, and how well they
// still predict.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/tests/cli/commands/model_program.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;

namespace fs = std::filesystem;
namespace json = boost::json;

/// The perplexity of a model of the demo model's vocabulary, over the demo model's.
double perplexity_ratio(const fs::path& model) {
  const ProgramRun outcome =
      run_weft("perplexity " + shell_word(model) +
               shell_word(source_path("tests/cli/commands/data/perplexity.txt")) +
               "--context 512 --stride 512 --json --against " + shell_word(wide_model));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return json::parse(outcome.output).at("ratio").at("value").as_double();
}

TEST(SmallerModels, MakesAFolderThatIsAModel) {
  const TempFolder folder;
  const fs::path out = folder.path() / "small";
  const ProgramRun outcome = quantize(wide_model, out, "--type q6_b64");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("small: [0-9.]+ MB of 10.0 MB, 56 of 74 tensors"));
  EXPECT_EQ(entries_in(folder.path()), 1) << "something was left beside it";
  EXPECT_THAT(tensors_in(out), AllOf(ContainsRegex("q6_b64 .*model.layers.7.mlp.down_proj.weight"),
                                     ContainsRegex("bf16 .*model.embed_tokens.weight")));
  EXPECT_EQ(run_weft("generate " + shell_word(out) + "\"What is 12 + 30?\" --chat").output,
            "12 + 30 = 42.\n");
  EXPECT_NEAR(perplexity_ratio(out), 1, 0.02);
}

TEST(SmallerModels, MakesAGgufFileOfAFolder) {
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
  EXPECT_THAT(tensors_in(small), AllOf(ContainsRegex("q8_0 .*blk.3.attn_q.weight"),
                                       ContainsRegex("q8_0 .*token_embd.weight"),
                                       ContainsRegex("f32 .*blk.3.attn_norm.weight")));
  EXPECT_NEAR(perplexity_ratio(small), 1, 0.02);
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

TEST(SmallerModels, MixesTypesAsLlamaCppDoesInAFileAndInAFolder) {
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

TEST(SmallerModels, MakesEveryMatrixOneTypeWhenItIsPure) {
  const TempFolder folder;
  const fs::path out = folder.path() / "pure.gguf";
  EXPECT_EQ(quantize(wide_model, out, "--type q4_k --pure").status, 0);
  EXPECT_THAT(tensors_in(out), AllOf(ContainsRegex("q4_k .*token_embd.weight"),
                                     ContainsRegex("q4_k .*blk.0.attn_v.weight")));
  const fs::path other = folder.path() / "pure";
  EXPECT_EQ(quantize(wide_model, other, "--type q4_b64 --pure").status, 0);
  EXPECT_THAT(tensors_in(other), ContainsRegex("q4_b64 .*model.embed_tokens.weight"));
}

TEST(SmallerModels, KnowsInferflowsNames) {
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

}  // namespace
}  // namespace weft::test
