// weft config, and the errors of weft serve for a configuration that is not valid.

#include <gmock/gmock.h>

#include <string>

#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ConfigVerb, SaysThatAFileIsRightOrOnWhichLineItIsNot) {
  const TempFolder folder;
  const std::string good = folder.write("good.toml", "[server]\nport = 80\n").string();
  EXPECT_EQ(run_weft("config check " + good).output, good + ": ok\n");
  EXPECT_EQ(run_weft("config check " + good).status, 0);
  const std::string bad = folder.write("bad.toml", "[server]\nprot = 80\n").string();
  const ProgramRun outcome = run_weft("config check " + bad);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output, "weft config check: " + bad +
                                ":2: server.prot; the nearest is server.port: there is no such "
                                "key\n");
}

TEST(ConfigVerb, PrintsAFileThatIsRight) {
  const TempFolder folder;
  const std::string file = (folder.path() / "printed.toml").string();
  EXPECT_EQ(run_weft("config print --max-rows 5 >" + file).status, 0);
  EXPECT_EQ(run_weft("config check " + file).output, file + ": ok\n");
  EXPECT_THAT(run_weft("config print --changed --config " + file).output,
              AllOf(HasSubstr("set by " + file), HasSubstr("\nmax_rows = 5\n"),
                    Not(HasSubstr("page_tokens"))));
}

TEST(ConfigVerb, PrintsNoApiKey) {
  EXPECT_THAT(run_weft("config print --api-key sesame").output, Not(HasSubstr("sesame")));
}

TEST(ConfigVerb, WantsToKnowWhatToDo) { EXPECT_NE(run_weft("config").status, 0); }

TEST(ServeVerb, SaysWhatTheConfigurationLacks) {
  EXPECT_THAT(run_weft("serve").output, HasSubstr("which model? weft serve MODEL"));
  EXPECT_THAT(run_weft("serve m --host ''").output, HasSubstr("server.unix_socket"));
  const ProgramRun outcome = run_weft("serve m --port 99999");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("--port: server.port = 99999: must be a whole number"));
}

}  // namespace
}  // namespace weft::test
