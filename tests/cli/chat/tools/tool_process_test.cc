#include "weft/cli/chat/tools/tool_process.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr std::chrono::seconds kPatience{60};

/// A command of the shell, and its end.
class ToolRun {
 public:
  explicit ToolRun(std::vector<std::string> command, std::string input = {},
                   std::chrono::milliseconds time = kPatience)
      : process_(std::move(command), std::move(input), time, [this] { ended_.set_value(); }) {}

  void stop() { process_.stop(); }
  std::string result() {
    EXPECT_EQ(ended_.get_future().wait_for(kPatience), std::future_status::ready);
    return process_.result().value_or("none");
  }

 private:
  std::promise<void> ended_;
  ToolProcess process_;
};

std::string output_of(const std::string& shell, const std::string& input = {},
                      std::chrono::milliseconds time = kPatience) {
  return ToolRun({"/bin/sh", "-c", shell}, input, time).result();
}

TEST(ToolProcess, GivesItsInputAndTakesWhatIsPrinted) {
  EXPECT_EQ(output_of("cat; echo and; echo more >&2", "{\"a\": 1}\n"), "{\"a\": 1}\nand\nmore");
}

TEST(ToolProcess, NeedsNoReaderOfALargeInput) {
  EXPECT_EQ(output_of("echo done", std::string(std::size_t{1} << 20, 'a')), "done");
}

TEST(ToolProcess, TakesItsWordsAsTheyAre) {
  EXPECT_EQ(ToolRun({"echo", "$HOME; `date`", "b  c"}).result(), "$HOME; `date` b  c");
}

TEST(ToolProcess, SaysHowItFailed) {
  EXPECT_EQ(output_of("echo half; exit 3"), "error: it ended with code 3\nhalf");
  EXPECT_EQ(output_of("kill -9 $$"), "error: it was ended by signal 9");
  EXPECT_EQ(ToolRun({"/no/such/program"}).result(),
            "error: cannot run /no/such/program: No such file or directory");
}

TEST(ToolProcess, KeepsTheBeginningOfALongOutput) {
  const std::string output = output_of("yes | head -c 1000000");
  EXPECT_THAT(output, StartsWith("y\ny\n"));
  EXPECT_THAT(output, HasSubstr("(cut: it printed more than 32768 bytes)"));
  EXPECT_LT(output.size(), kMostToolOutput + 100);
}

TEST(ToolProcess, MakesTextOfBytes) {
  const std::string output = output_of(R"(printf 'a\377b')");
  EXPECT_TRUE(is_utf8(output));
  EXPECT_EQ(output,
            "a\xEF\xBF\xBD"
            "b");
}

TEST(ToolProcess, EndsWhatTakesTooLong) {
  EXPECT_EQ(output_of("echo begun; sleep 1000", {}, std::chrono::seconds(1)),
            "error: it did not end in 1 s\nbegun");
}

TEST(ToolProcess, EndsWhatPrintsWithoutEnd) {
  EXPECT_THAT(output_of("yes", {}, std::chrono::seconds(1)),
              StartsWith("error: it did not end in 1 s\ny\n"));
}

TEST(ToolProcess, EndsWhenTheUserSaysSo) {
  ToolRun run({"sleep", "1000"});
  run.stop();
  EXPECT_EQ(run.result(), "error: the user ended it");
}

TEST(ToolProcess, KillsWhatDoesNotEndWhenTold) {
  const test::TempFolder folder;
  const std::string ready = (folder.path() / "ready").string();
  ASSERT_EQ(::mkfifo(ready.c_str(), 0600), 0);
  ToolRun run({"/bin/sh", "-c", "trap '' TERM; echo > " + ready + "; while :; do sleep 0.1; done"});
  std::string line;
  std::getline(std::ifstream(ready), line);  // the trap is set
  run.stop();
  EXPECT_EQ(run.result(), "error: the user ended it");
}

TEST(ToolProcess, LeavesNothingBehindThatRuns) {
  const std::string output = output_of("sleep 1000 & echo $!");
  ASSERT_THAT(output, MatchesRegex("[0-9]+"));
  // It has been killed; the system may take a moment to end it, and another process waits for it.
  const auto runs = [&] {
    std::ifstream state("/proc/" + output + "/stat");
    std::string number;
    std::string name;
    std::string letter;
    return (state >> number >> name >> letter) && letter != "Z";
  };
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (runs() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(runs());
}

TEST(ToolProcess, HasNoTerminalAndNoDescriptorsOfOurs) {
  EXPECT_EQ(output_of("ls /proc/self/fd | wc -w; (: < /dev/tty) 2>/dev/null || echo none"),
            "4\nnone");  // the fourth is ls' own
}

TEST(ToolProcess, EndsWithItsObject) {
  const auto begun = std::chrono::steady_clock::now();
  {
    const ToolProcess process({"sleep", "1000"}, {}, kPatience, [] {});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kPatience);
}

}  // namespace
}  // namespace weft::cli
