// `weft tune-lora` as a user runs it.

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
using testing::HasSubstr;

constexpr const char* kConversations =
    R"({"messages": [{"role": "user", "content": "Say hello."}, {"role": "assistant", "content": "hello"}]}
{"messages": [{"role": "user", "content": "Say bye."}, {"role": "assistant", "content": "bye"}]}
{"text": "hello and bye"}
)";

class TuneLora : public testing::Test {
 protected:
  [[nodiscard]] std::string model() const {
    return shell_word(source_path("examples/demo_model/model"));
  }
  [[nodiscard]] fs::path out() const { return folder_.path() / "adapter"; }
  [[nodiscard]] ProgramRun tune(const std::string& data, const std::string& options) const {
    return run_weft("tune-lora " + model() + shell_word(folder_.write("data.jsonl", data)) +
                    shell_word(out()) + options);
  }

  const TempFolder folder_;
};

TEST_F(TuneLora, WritesAnAdapterThatGenerateReads) {
  const ProgramRun tuned =
      tune(kConversations, "--rank 2 --targets q,down --batch 2 --steps 2 --json");
  ASSERT_EQ(tuned.status, 0) << tuned.output;
  EXPECT_THAT(tuned.output, AllOf(HasSubstr(R"({"step":1,"loss":)"), HasSubstr(R"({"step":2,)")));
  EXPECT_FALSE(fs::exists(out().string() + ".state"));
  const std::string adapted = "--adapter " + shell_word(out());
  const ProgramRun text = run_weft("generate " + model() + "hello --max-tokens 2 " + adapted);
  EXPECT_EQ(text.status, 0) << text.output;
  EXPECT_THAT(run_weft("inspect " + shell_word(out())).output, HasSubstr("down_proj"));
}

TEST_F(TuneLora, TheSameSeedGivesTheSameLosses) {
  const std::string options = "--rank 1 --targets v --batch 2 --steps 2 --lr 0.01 --json --seed ";
  const ProgramRun first = tune(kConversations, options + "3");
  fs::remove_all(out());
  EXPECT_EQ(tune(kConversations, options + "3").output, first.output);
  fs::remove_all(out());
  EXPECT_NE(tune(kConversations, options + "4").output, first.output);
}

TEST_F(TuneLora, AWrongLineIsNamedAndNothingIsWritten) {
  const ProgramRun tuned = tune("{\"text\": \"a\"}\n{\"messages\": [{\"role\": \"bot\"}]}\n", "");
  EXPECT_EQ(tuned.status, 1);
  EXPECT_THAT(tuned.output, HasSubstr("data.jsonl:2: messages[0].role: must be"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(TuneLora, WhatIsThereIsNotReplaced) {
  fs::create_directory(out());
  EXPECT_THAT(tune(kConversations, "").output, HasSubstr("exists already"));
  fs::remove(out());
  (void)folder_.write("adapter.state", "a state");
  EXPECT_THAT(tune(kConversations, "").output, HasSubstr("--resume goes on with it"));
  EXPECT_EQ(tune(kConversations, "--resume").status, 1);
}

TEST_F(TuneLora, AModelWithoutGradientsIsRefusedByItsBlock) {
  const ProgramRun tuned =
      run_weft("tune-lora " + shell_word(source_path("tests/model/data/goldens/bloom")) +
               shell_word(folder_.write("data.jsonl", kConversations)) + shell_word(out()));
  EXPECT_EQ(tuned.status, 1);
  EXPECT_THAT(tuned.output, HasSubstr("0.attention.alibi: has no gradient here"));
}

}  // namespace
}  // namespace weft::test
