// The built program, run as a user runs it.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace weft {
namespace {

struct Outcome {
  int status;
  std::string output;  // both streams
};

Outcome weft(const std::string& arguments) {
  std::string command = WEFT_PROGRAM;
  command.append(" ").append(arguments).append(" 2>&1");
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

TEST(Program, ShowsItsVerbsOnHelp) {
  const Outcome help = weft("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* verb : {"devices", "version"}) {
    EXPECT_NE(help.output.find(verb), std::string::npos) << help.output;
  }
}

TEST(Program, SaysWhatIsWrongWithAVerbItDoesNotKnow) {
  const Outcome outcome = weft("serv");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.output.find("serv"), std::string::npos) << outcome.output;
}

TEST(Program, SaysThatAVerbIsMissing) {
  const Outcome outcome = weft("");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.output.find("--help"), std::string::npos) << outcome.output;
}

TEST(Program, PrintsItsVersion) {
  EXPECT_EQ(weft("--version").output, std::string(WEFT_VERSION) + "\n");
  EXPECT_EQ(weft("version").output.find("weft " WEFT_VERSION "\n"), 0U);
}

TEST(Program, ListsTheHostAsADevice) {
  const Outcome outcome = weft("devices");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.output.starts_with("cpu ")) << outcome.output;
}

}  // namespace
}  // namespace weft
