// The built program, run as a user runs it: properties of all its verbs.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <sstream>
#include <string>

#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Program, ShowsItsVerbsOnHelp) {
  const ProgramRun help = run_weft("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* verb :
       {"serve", "chat", "batch", "config", "generate", "embed", "tokenize", "inspect", "logits",
        "perplexity", "merge", "quantize", "devices", "tune", "tune-lora", "version", "help"}) {
    EXPECT_THAT(help.output, HasSubstr(verb));
  }
}

TEST(Program, SaysWhatIsWrongWithAVerbItDoesNotKnow) {
  const ProgramRun outcome = run_weft("serv");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("serv"));
}

TEST(Program, SaysWhichNameWasProbablyMeantAndNamesArgumentsInTheirOrder) {
  EXPECT_THAT(run_weft("serv").output, HasSubstr("serv: did you mean serve?"));
  EXPECT_THAT(run_weft("serve . --max-rwos 3 --prot=80").output,
              AllOf(HasSubstr("not expected: --max-rwos 3 --prot=80\n"),
                    HasSubstr("--max-rwos: did you mean --max-rows?"),
                    HasSubstr("--prot=80: did you mean --port?")));
  EXPECT_THAT(run_weft("bench recpie").output, HasSubstr("recpie: did you mean recipe?"));
  EXPECT_THAT(run_weft("logits . --josn").output, HasSubstr("--josn: did you mean --json?"))
      << "where something else is missing as well";
  EXPECT_THAT(run_weft("tokenize . a --xyzzyplugh").output,
              AllOf(HasSubstr("not expected: --xyzzyplugh"), Not(HasSubstr("did you mean"))));
}

TEST(Program, HelpsWithAVerbAsTheVerbItselfDoes) {
  EXPECT_EQ(run_weft("help").output, run_weft("--help").output);
  EXPECT_EQ(run_weft("help serve").output, run_weft("serve --help").output);
  EXPECT_EQ(run_weft("help bench recipe").output, run_weft("bench recipe --help").output);
  const ProgramRun unknown = run_weft("help serv");
  EXPECT_NE(unknown.status, 0);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean serve?"));
}

TEST(Program, TellsWhyItDoesNotServeInJsonWhereItsLogIsJson) {
  const TempFolder folder;
  const std::string file =
      folder.write("weft.toml", "[log]\nformat = \"json\"\n[server]\nprot = 1\n").string();
  for (const std::string& how :
       {std::string("serve /nowhere --port 0 --log-format json"), "serve --config " + file,
        std::string("serve --max-rows=-1 --log-format json")}) {
    SCOPED_TRACE(how);
    const ProgramRun outcome = run_weft(how);
    EXPECT_EQ(outcome.status, 1);
    std::istringstream lines(outcome.output);
    std::string line;
    boost::json::object last;
    while (std::getline(lines, line)) last = boost::json::parse(line).as_object();
    EXPECT_EQ(last.at("level"), "error");
    EXPECT_TRUE(last.contains("message"));
  }
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
