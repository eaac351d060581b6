// `weft merge`, `weft inspect ADAPTER` and --adapter as a user runs them.

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "weft/tests/cli/commands/model_program.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string data_word(const char* name) {
  return shell_word(fs::path(source_path("tests/model/data")) / name);
}

std::string logits(const std::string& model, const std::string& options = {}) {
  const ProgramRun outcome = run_weft("logits " + model + "--ids 5,9,3 --json " + options);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return outcome.output;
}

TEST(AdapterVerbs, TheMergedFolderComputesWhatTheAdapterDoesWhileLoading) {
  const std::string base = data_word("goldens/llama");
  const std::string adapter = data_word("adapters/llama");
  const TempFolder folder;
  const fs::path out = folder.path() / "merged";
  const ProgramRun merged = run_weft("merge " + base + adapter + shell_word(out));
  EXPECT_EQ(merged.status, 0) << merged.output;
  EXPECT_THAT(merged.output, HasSubstr("14 low-rank pairs"));
  EXPECT_TRUE(fs::exists(out / "config.json"));
  EXPECT_THAT(tensors_in(out), ContainsRegex("f16 .*layers.0.self_attn.q_proj.weight"));
  const std::string own = logits(base);
  const std::string loaded = logits(base, "--adapter " + adapter);
  EXPECT_EQ(logits(shell_word(out)), loaded);
  EXPECT_NE(own, loaded);
}

TEST(AdapterVerbs, MergeReplacesNothingAndLeavesNothingOfAFailure) {
  const TempFolder folder;
  const fs::path out = folder.path() / "merged";
  const std::string base = data_word("goldens/llama");
  const std::string other = data_word("adapters/gpt2");
  const ProgramRun unfit = run_weft("merge " + base + other + shell_word(out));
  EXPECT_EQ(unfit.status, 1);
  EXPECT_THAT(unfit.output, HasSubstr("the base has no tensor 'transformer.h.0"));
  EXPECT_EQ(entries_in(folder.path()), 0);
  fs::create_directory(out);
  const std::string adapter = data_word("adapters/llama");
  EXPECT_EQ(run_weft("merge " + base + adapter + shell_word(out)).status, 1);
}

TEST(AdapterVerbs, InspectShowsWhatAnAdapterChanges) {
  EXPECT_THAT(run_weft("inspect " + data_word("adapters/patterns")).output,
              AllOf(HasSubstr("PEFT LoRA"), HasSubstr("goldens/llama"),
                    HasSubstr("q_proj (2), v_proj (2)"), HasSubstr("1 (2), 2 (1), 3 (1)")));
  EXPECT_THAT(run_weft("inspect " + data_word("adapters/saved")).output,
              ContainsRegex("replaces +lm_head.weight"));
  EXPECT_THAT(run_weft("inspect " + data_word("adapters/llama-gguf/adapter.gguf")).output,
              AllOf(HasSubstr("GGUF LoRA"), HasSubstr("attn_q (2)")));
}

TEST(AdapterVerbs, InspectListsEveryKeyThatIsRefused) {
  const TempFolder folder;
  const fs::path adapter = folder.path() / "adapter";
  fs::copy(fs::path(source_path("tests/model/data/adapters/llama")), adapter);
  fs::remove(adapter / "adapter_config.json");
  folder.write("adapter/adapter_config.json",
               R"({"r": 2, "target_modules": "all-linear", "use_qalora": true, "magic": 1})");
  EXPECT_THAT(run_weft("inspect " + shell_word(adapter)).output,
              AllOf(ContainsRegex("refused +use_qalora: "), ContainsRegex("refused +'magic': ")));
}

TEST(AdapterVerbs, InspectTellsOfAnAdapterBesideAModel) {
  const TempFolder folder;
  const fs::path model = folder.path() / "model";
  fs::copy(fs::path(source_path("tests/model/data/goldens/llama")), model);
  EXPECT_THAT(run_weft("inspect --no-program " + shell_word(model)).output,
              Not(HasSubstr("lies beside the model")));
  fs::copy(fs::path(source_path("tests/model/data/adapters/llama")), model / "adapter");
  EXPECT_THAT(run_weft("inspect --no-program " + shell_word(model)).output,
              HasSubstr("model/adapter lies beside the model"));
}

TEST(AdapterVerbs, AnAdapterAsModelSaysWhatToDo) {
  const ProgramRun outcome = run_weft("logits " + data_word("adapters/llama") + "--ids 5");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("is an adapter: name its base as the model"));
}

TEST(AdapterVerbs, AWarningOfAnotherBaseGoesToStandardError) {
  const TempFolder folder;
  const fs::path model = folder.path() / "renamed";
  fs::copy(fs::path(source_path("tests/model/data/goldens/llama")), model);
  const std::string line = "logits " + shell_word(model) + "--ids 5 --adapter ";
  EXPECT_THAT(run_weft(line + data_word("adapters/llama")).output,
              HasSubstr("weft: the adapter was trained on 'goldens/llama'"));
  EXPECT_THAT(run_weft(line + data_word("adapters/llama") + "2>/dev/null").output,
              Not(HasSubstr("was trained on")));
}

}  // namespace
}  // namespace weft::test
