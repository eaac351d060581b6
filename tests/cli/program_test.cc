// The built program, run as a user runs it: what holds for all its verbs.

#include <gmock/gmock.h>

#include <string>

#include "weft/tests/cli/run_program.h"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Program, ShowsItsVerbsOnHelp) {
  const ProgramRun help = run_weft("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* verb :
       {"serve", "chat", "batch", "config", "generate", "embed", "tokenize", "inspect", "logits",
        "perplexity", "quantize", "devices", "tune", "version"}) {
    EXPECT_THAT(help.output, HasSubstr(verb));
  }
}

TEST(Program, SaysWhatIsWrongWithAVerbItDoesNotKnow) {
  const ProgramRun outcome = run_weft("serv");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("serv"));
}

TEST(Program, SaysThatAVerbIsMissing) {
  const ProgramRun outcome = run_weft("");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--help"));
}

TEST(Program, EndsWithTwoWhereItsCommandLineIsWrong) {
  for (const char* const line : {"serv", "--nothing", "serve --nothing", "inspect", "version more",
                                 "generate --tokens", "generate model --max-tokens many", "bench",
                                 "bench nothing", "serve model --web-page --no-web-page"}) {
    EXPECT_EQ(run_weft(line).status, 2) << line;
  }
  for (const char* const line : {"--help", "serve --help", "--version", "version"}) {
    EXPECT_EQ(run_weft(line).status, 0) << line;
  }
  EXPECT_EQ(run_weft("inspect /no/such/model").status, 1);
}

TEST(Program, PrintsItsVersion) {
  EXPECT_EQ(run_weft("--version").output, std::string(WEFT_VERSION) + "\n");
  EXPECT_THAT(run_weft("version").output, StartsWith("weft " WEFT_VERSION "\n"));
}

TEST(Program, FailsWhenWhatItPrintsIsLost) {
  for (const char* const verb : {"--version", "--help", "version", "devices"}) {
    const ProgramRun outcome = run_weft(std::string(verb) + " >/dev/full");
    EXPECT_EQ(outcome.status, 1) << verb;
    EXPECT_THAT(outcome.output, HasSubstr("standard output could not be written")) << verb;
  }
}

TEST(Program, ListsTheHostAsADevice) {
  const ProgramRun outcome = run_weft("devices");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, StartsWith("cpu "));
}

}  // namespace
}  // namespace weft::test
