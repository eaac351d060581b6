// `weft chat` without a terminal: lines in, answers out, from a server and from a model of its own.

#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/tests/cli/demo_server.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/http_stub.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::string chat_model_path = source_path("examples/demo_model/model");

/// Runs `weft chat PLACE` on these lines; with its notes when `notes`.
ProgramRun chat(const std::string& place, const std::string& lines, bool notes = false,
                const std::string& options = "") {
  return run_weft("chat \"" + place + "\" " + options + (notes ? "" : " 2>/dev/null") +
                  " <<'END'\n/set temperature 0\n" + lines + "\nEND");
}

/// Runs each test against both backends, which must say the same.
class ChatProgram : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) server_ = std::make_unique<DemoServer>();
  }
  ProgramRun say(const std::string& lines, bool notes = false, const std::string& options = "") {
    return chat(server_ ? server_->url("ws") : chat_model_path, lines, notes, options);
  }

  std::unique_ptr<DemoServer> server_;
};
INSTANTIATE_TEST_SUITE_P(Backends, ChatProgram, testing::Bool(),
                         [](const auto& backend) { return backend.param ? "Remote" : "Local"; });

TEST_P(ChatProgram, AnswersQuestionsOneAfterTheOther) {
  const ProgramRun outcome = say("What is 12 + 30?\nWhat is 7 * 8?");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "12 + 30 = 42.\n7 x 8 = 56.\n");
}

TEST_P(ChatProgram, RemembersTheConversation) {
  const ProgramRun outcome =
      say("At home I have a duck\nWhat animal do I have?\n/new\nWhat is 1 + 1?");
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("You have a duck."), EndsWith("1 + 1 = 2.\n")));
}

TEST_P(ChatProgram, GoesOnWithWhatAToolSays) {
  const TempFolder folder;
  const std::string file =
      folder
          .write("tools.json",
                 R"([{"name": "calculator", "description": "Evaluates an expression.",
                      "parameters": {"type": "object", "required": ["expression"],
                                     "properties": {"expression": {"type": "string"}}},
                      "shell": "grep -q expression && echo 4711", "ask": false}])")
          .string();
  const ProgramRun outcome = say("What is 12 * 30?\nAnd plus 5?", true, "--tools " + file);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("calls calculator {\"expression\":\"12 * 30\"}\n-> 4711\n"),
                    HasSubstr("12 * 30 = 4711.\n"),
                    HasSubstr("calls calculator {\"expression\":\"4711 + 5\"}\n")));
}

TEST_P(ChatProgram, RunsBatchesBehindTheConversationAndShowsThemInBatchMode) {
  const ProgramRun outcome =
      say("/batch [\"What is 12 + 30?\", \"What is 7 * 8?\"] [32, 3]\n"
          "What is 2 + 2?\n/batch\n[\"What is 3 + 3?\"]");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output,
              AllOf(testing::StartsWith("batch 1: 2 prompts\n2 + 2 = 4.\n"),
                    HasSubstr("batch 1\n[1] What is 12 + 30?\n12 + 30 = 42.\n"
                              "[2] What is 7 * 8?\n"),
                    HasSubstr("(cut: as long as it may be)\n"), HasSubstr("batch 2: 1 prompt\n"),
                    HasSubstr("batch 2\n[1] What is 3 + 3?\n3 + 3 = 6.\n")));
}

TEST_P(ChatProgram, RunsMorePromptsThanThereAreStreams) {
  const TempFolder folder;
  std::string prompts;
  for (int i = 0; i < 40; ++i) prompts += "\"What is " + std::to_string(i) + " + 1?\"\n";
  const std::string file = folder.write("prompts.jsonl", prompts).string();
  const ProgramRun outcome = say("/batch @" + file);
  for (int i = 0; i < 40; ++i) {
    EXPECT_THAT(outcome.output, HasSubstr(std::to_string(i) + " + 1 = " + std::to_string(i + 1)));
  }
}

TEST_P(ChatProgram, SaysWhatIsWrongWithALineAndGoesOn) {
  const ProgramRun outcome = say("/batch [\"a\" \"b\"]\nWhat is 1 + 2?", true);
  EXPECT_THAT(outcome.output, HasSubstr("/batch [\"a\" \"b\"]\n            ^\n"
                                        "column 13: a comma or ] belongs here"));
  EXPECT_THAT(outcome.output, EndsWith("1 + 2 = 3.\n"));
}

TEST_P(ChatProgram, RefusesASettingAtOnceAndGoesOnWithout) {
  const ProgramRun outcome =
      say("/set top_p 7\n/set temperatur 0.5\n/set temperature hot\n/set seed 5\n"
          "What is 1 + 2?\n/status",
          true);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("error: top_p: "), HasSubstr("; top_p is not set"),
                    HasSubstr("unknown parameter: \"temperatur\"; temperatur is not set"),
                    HasSubstr("temperature: must be a number; temperature is as it was"),
                    HasSubstr("1 + 2 = 3."), HasSubstr("2 messages in the conversation"),
                    HasSubstr("temperature = 0\nseed = 5\n")));
}

TEST_P(ChatProgram, SaysWhatToDoWhenTheContextIsFull) {
  const std::string line(60000, 'a');
  const ProgramRun outcome = say(
      "/set max_tokens 900\n" + line + "\n/set max_tokens\n" + line + "\nWhat is 1 + 2?\n/status",
      true);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("This model's maximum context length is 8192 tokens."),
                    HasSubstr("/new begins a new conversation"), HasSubstr("1 + 2 = 3."),
                    HasSubstr("2 messages in the conversation")));
}

TEST_P(ChatProgram, SavesTheConversationAndOverwritesNothing) {
  const TempFolder folder;
  const std::string file = (folder.path() / "talk.json").string();
  const std::string own = folder.write("own.txt", "mine").string();
  const ProgramRun outcome =
      say("/system Be brief.\nWhat is 1 + 1?\n/save " + file + "\n/save " + own, true);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("saved 2 messages to " + file + "\n"),
                                    HasSubstr("own.txt is there already")));
  std::ifstream saved(file);
  std::string text;
  std::getline(saved, text);
  const auto talk = boost::json::parse(text);
  EXPECT_EQ(talk.at("system"), "Be brief.");
  EXPECT_EQ(talk.at("messages").as_array().size(), 2U);
}

TEST_P(ChatProgram, GoesOnWhenAFileCannotBeSaved) {
  const TempFolder folder;
  const std::string loop = (folder.path() / "loop").string();
  std::filesystem::create_symlink(loop, loop);
  const std::string file = folder.write("file", "").string();
  const ProgramRun outcome = say("/save " + std::string(5000, 'n') + "\n/save " + loop +
                                     "/talk.json\n/save " + file + "/talk.json\nWhat is 1 + 1?",
                                 true);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("nn: File name too long"),
                    HasSubstr("loop/talk.json: Too many levels of symbolic links"),
                    HasSubstr("file/talk.json: Not a directory"), EndsWith("1 + 1 = 2.\n")));
}

TEST_P(ChatProgram, CancelsABatch) {
  const ProgramRun outcome =
      say("/batch [\"Tell me a story.\"]\n/cancel 1\n/cancel 7\n/batch", true);
  EXPECT_THAT(outcome.output, HasSubstr("no batch 7 is under way"));
  EXPECT_THAT(outcome.output, HasSubstr("(cancelled)"));
}

TEST_P(ChatProgram, LeavesAtOnceWhenToldTo) {
  const ProgramRun outcome = say("/batch [\"Tell me a story.\"]\n/quit\nWhat is 1 + 1?");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "batch 1: 1 prompt\n");
}

TEST(ChatProgramErrors, NamesTheServerThatIsNotThere) {
  const ProgramRun outcome = chat("http://127.0.0.1:1", "hello", true);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("weft chat: http://127.0.0.1:1: Connection refused"));
}

TEST(ChatProgramErrors, AnAddressWithoutASchemeIsAServer) {
  DemoServer server({});
  const std::string url = server.url();
  EXPECT_EQ(chat(url.substr(url.find("//") + 2), "What is 1 + 1?").output, "1 + 1 = 2.\n");
}

TEST(ChatProgramErrors, SaysOnceThatItWaitsForTheModel) {
  std::atomic<int> asked{0};
  HttpStub server([&asked](const HttpStub::Request& request) {
    const bool loading = request.target() == "/health" && ++asked < 3;
    return loading ? HttpStub::reply(503, R"({"error":{"code":"loading","message":"loading it"}})")
                   : HttpStub::reply(200, R"({"data":[{"id":"m"}]})");
  });
  const ProgramRun outcome = chat(server.url(), "/quit", true);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "waits: loading it\nm at " + server.url() + "\n");
}

TEST(ChatProgramErrors, WaitsForNoEngineThatHasFailed) {
  HttpStub server([](const HttpStub::Request&) {
    return HttpStub::reply(503, R"({"error":{"code":"not_ready","message":"it has failed"}})");
  });
  const ProgramRun outcome = chat(server.url(), "hello", true);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr(server.url() + ": it has failed"));
}

TEST(ChatProgramErrors, LetsOnlyTheRequestFailThatIsTooLarge) {
  DemoServer server({.max_message_bytes = 1024});
  const TempFolder folder;
  const std::string large(4000, 'a');
  const std::string file =
      folder
          .write("prompts.jsonl",
                 "\"What is 1 + 1?\"\n\"" + large + "\"\n\"What is 2 + 2?\"\n\"" + large + "\"")
          .string();
  const ProgramRun outcome = chat(server.url("ws"), "/batch @" + file + "\nWhat is 3 + 3?");
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("1 + 1 = 2."), HasSubstr("2 + 2 = 4.")));
  const std::string failed = "...\n(failed: the request is larger than the server takes";
  EXPECT_THAT(outcome.output, HasSubstr("[2] " + std::string(70, 'a') + failed));
  EXPECT_THAT(outcome.output, HasSubstr("[4] " + std::string(70, 'a') + failed));
  EXPECT_EQ(outcome.status, 1);
}

TEST(ChatProgramErrors, ExitsWithOneWhenSomethingCouldNotBeDone) {
  EXPECT_EQ(chat(chat_model_path, "What is 1 + 1?").status, 0);
  EXPECT_EQ(chat(chat_model_path, "/set top_p 7\nWhat is 1 + 1?").status, 1);
  EXPECT_EQ(chat(chat_model_path, "/new\n/batch [\"Who are you?\"]").status, 0);
  EXPECT_EQ(chat(chat_model_path, "/nothing-like-it").status, 1);
}

TEST(ChatProgramErrors, SaysWhatIsNoLongerSet) {
  const std::string lines = "/set top_p 0.5\n/set top_p\n/set top_p\n/quit";
  EXPECT_THAT(chat(chat_model_path, lines, true).output,
              EndsWith("top_p is no longer set; it was 0.5\ntop_p is not set\n"));
}

TEST(ChatProgramErrors, NamesWhatIsNoUrl) {
  for (const char* url : {"http://", "http://host:port", "ws://a b", "http://[::1", "http://h:0"}) {
    EXPECT_EQ(chat(url, "hello").status, 1) << url;
  }
}

TEST(ChatProgramErrors, SaysThatTheKeyIsWrong) {
  DemoServer server({.api_key = "right"});
  EXPECT_THAT(chat(server.url(), "hello", true, "--api-key wrong").output, HasSubstr("--api-key"));
  EXPECT_EQ(chat(server.url(), "What is 1 + 1?", false, "--api-key right").output, "1 + 1 = 2.\n");
}

}  // namespace
}  // namespace weft::test
