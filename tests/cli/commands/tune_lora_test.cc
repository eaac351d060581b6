// `weft tune-lora` as a user runs it.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
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

TEST_F(TuneLora, OptionsOutOfRangeAreRefusedByTheirNames) {
  const auto refusal = [&](const std::string& options) {
    const ProgramRun run = tune(kConversations, options);
    EXPECT_NE(run.status, 0) << options;
    EXPECT_FALSE(fs::exists(out()));
    return run.output;
  };
  for (const char* option : {"--lr", "--clip", "--decay", "--alpha", "--dropout", "--epochs"}) {
    for (const char* number : {"nan", "inf", "-1", "1e300"}) {
      EXPECT_THAT(refusal(std::string(option) + "=" + number),
                  AllOf(HasSubstr(option), HasSubstr("must be a number of")))
          << number;
    }
  }
  EXPECT_THAT(refusal("--epochs 1e20"), HasSubstr("--epochs: gives more than 2^40 steps"));
  EXPECT_THAT(refusal("--tokens 100000"), HasSubstr("--tokens: must be 2 .. 8192"));
  EXPECT_THAT(refusal("--warmup=-1"), HasSubstr("--warmup"));
}

TEST_F(TuneLora, APlaceThatCannotBeWrittenIsNamedBeforeTheDataIsRead) {
  const auto run = [&](const fs::path& place) {
    return run_weft("tune-lora " + model() + shell_word(folder_.write("data.jsonl", "{")) +
                    shell_word(place));
  };
  EXPECT_THAT(run(folder_.path() / "absent" / "adapter").output,
              AllOf(HasSubstr("absent/adapter"), HasSubstr("No such file")));
  EXPECT_THAT(run(folder_.path() / "data.jsonl" / "adapter").output,
              AllOf(HasSubstr("data.jsonl/adapter"), HasSubstr("Not a directory")));
}

TEST_F(TuneLora, ARateThatIsTooHighStopsAndKeepsTheLastGoodState) {
  const std::string options = "--rank 1 --targets q,k --batch 1 --steps 4 --clip 0 --lr 1e30";
  const ProgramRun tuned = tune(kConversations, options);
  EXPECT_EQ(tuned.status, 1);
  EXPECT_THAT(tuned.output, AllOf(HasSubstr("step 2: "), HasSubstr("--lr")));
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_TRUE(fs::exists(out().string() + ".state"));
}

TEST_F(TuneLora, LeftOutExamplesAreCountedByTheirReason) {
  const ProgramRun tuned =
      tune(std::string(kConversations) + R"({"text": "a", "weight": 0})" + "\n",
           "--rank 1 --targets v --steps 1");
  EXPECT_EQ(tuned.status, 0) << tuned.output;
  EXPECT_THAT(tuned.output, HasSubstr("1 of the examples have no token with a weight"));
  EXPECT_THAT(tuned.output, testing::Not(HasSubstr("are cut")));
}

TEST_F(TuneLora, DropoutIsWrittenIntoTheAdapter) {
  const ProgramRun tuned = tune(kConversations, "--rank 1 --targets v --steps 1 --dropout 0.25");
  ASSERT_EQ(tuned.status, 0) << tuned.output;
  std::ifstream config(out() / "adapter_config.json");
  const std::string text{std::istreambuf_iterator<char>(config), {}};
  EXPECT_THAT(text, HasSubstr(R"("lora_dropout":2.5E-1)"));
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
