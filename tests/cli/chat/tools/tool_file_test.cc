#include "weft/cli/chat/tools/tool_file.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <string>

#include "weft/config/config_error.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cli {
namespace {

using testing::ElementsAre;

class ToolFile : public testing::Test {
 protected:
  Result<std::vector<ChatTool>> read(std::string_view text) {
    return read_tool_file(folder_.write("tools.json", text).string());
  }

  test::TempFolder folder_;
};

TEST_F(ToolFile, SaysWhatAModelMayCallAndHow) {
  const auto tools = read(R"([
    {"name": "add", "description": "Adds.", "parameters": {"type": "object"},
     "command": ["./add", "-v"], "ask": false, "timeout_s": 7},
    {"name": "now", "shell": "date | cat"}])");
  ASSERT_TRUE(tools) << to_string(tools.error());
  ASSERT_EQ(tools->size(), 2U);
  const ChatTool& add = tools->front();
  EXPECT_EQ(std::string(add.command[0]), (folder_.path() / "./add").string());
  EXPECT_EQ(add.command[1], "-v");
  EXPECT_FALSE(add.ask);
  EXPECT_EQ(add.time, std::chrono::seconds(7));
  EXPECT_EQ(tool_definition(add),
            boost::json::parse(R"({"type": "function", "name": "add", "description": "Adds.",
                                   "parameters": {"type": "object"}})"));
  const ChatTool& now = tools->back();
  EXPECT_THAT(now.command, ElementsAre("/bin/sh", "-c", "date | cat"));
  EXPECT_TRUE(now.ask) << "unless the file says otherwise";
  EXPECT_EQ(now.time, kToolTime);
  EXPECT_EQ(tool_definition(now).at("parameters").at("type"), "object");
}

TEST_F(ToolFile, LooksForAProgramWithoutASlashInPath) {
  const auto tools = read(R"([{"name": "now", "command": ["date"]}])");
  ASSERT_TRUE(tools) << to_string(tools.error());
  EXPECT_THAT(tools->front().command, ElementsAre("date"));
}

TEST_F(ToolFile, NamesTheFieldThatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"{", ": this is no JSON"},
      {"{}", ": must be a list of tools"},
      {"[]", ": must be a list of tools"},
      {"[7]", ": [0] must be an object"},
      {R"([{"command": ["a"]}])", ": [0].name: must be 1 to 64 letters"},
      {R"([{"name": "a b", "command": ["a"]}])", ": [0].name: must be 1 to 64 letters"},
      {R"([{"name": 7, "command": ["a"]}])", ": [0].name: must be a text"},
      {R"([{"name": "a"}])", ": [0] must have a command or a shell"},
      {R"([{"name": "a", "command": ["a"], "shell": "b"}])",
       ": [0] must have a command or a shell"},
      {R"([{"name": "a", "shell": ""}])", ": [0].shell: must not be empty"},
      {R"([{"name": "a", "command": "ls"}])", ": [0].command: must be a list of texts"},
      {R"([{"name": "a", "command": []}])", ": [0].command: must be a list of texts"},
      {R"([{"name": "a", "command": ["ls", 7]}])", ": [0].command: must be a list of texts"},
      {R"([{"name": "a", "command": [""]}])", ": [0].command: must begin with a program"},
      {R"([{"name": "a", "command": ["a"], "parameters": 7}])", ": [0].parameters: must be"},
      {R"([{"name": "a", "command": ["a"], "ask": "no"}])", ": [0].ask: must be true or false"},
      {R"([{"name": "a", "command": ["a"], "timeout_s": 0}])",
       ": [0].timeout_s: must be 1 to 3600"},
      {R"([{"name": "a", "command": ["a"], "timeout_s": 1.5}])", ": [0].timeout_s: must be"},
      {R"([{"name": "a", "command": ["a"], "aks": false}])", ": [0].aks: is not known"},
      {R"([{"name": "a", "command": ["a"]}, {"name": "a", "command": ["b"]}])",
       ": [1].name: there is another \"a\""},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_THAT(read(text), test::FailsWith(ConfigErrc::kBadConfig, "tools.json" + what)) << text;
  }
}

TEST_F(ToolFile, IsBounded) {
  std::string many = "[";
  for (std::size_t i = 0; i <= kMaxTools; ++i) {
    many.append(i == 0 ? "" : ",").append(R"({"name": "a)" + std::to_string(i));
    many.append(R"(", "command": ["a"]})");
  }
  EXPECT_THAT(read(many + "]"), test::FailsWith(ConfigErrc::kBadConfig, "more than 64 tools"));
  EXPECT_THAT(read(std::string(kLargestToolFile + 1, ' ')),
              test::FailsWith(FileErrc::kTooLarge, "tools.json"));
}

TEST_F(ToolFile, OfTheExamplesIsRead) {
  const auto tools = read_tool_file(test::source_path("examples/tools/tools.json"));
  ASSERT_TRUE(tools) << to_string(tools.error());
  EXPECT_EQ(tools->size(), 2U);
}

}  // namespace
}  // namespace weft::cli
