// `weft bench serve` as a user runs it: against the demo model's server, and against a server whose
// answers a test writes.

#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "weft/tests/cli/demo_server.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/stream_stub.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Answers completions with a test's text, and the requests that `weft bench serve` sends before
/// them.
class StubServer {
 public:
  explicit StubServer(StreamStub::Handler handler)
      : stub_([handler = std::move(handler)](const HttpStub::Request& request) {
          if (request.target() == "/v1/models") {
            return StreamStub::plain("200 OK", "application/json", R"({"data":[{"id":"stub"}]})");
          }
          if (request.target() == "/health") return StreamStub::plain("200 OK", "text/plain", "");
          return handler(request);
        }) {}
  explicit StubServer(StreamStub::Script script)
      : StubServer([script = std::move(script)](const HttpStub::Request&) { return script; }) {}
  [[nodiscard]] std::string url() const { return stub_.url(); }

 private:
  StreamStub stub_;
};

class BenchServeProgram : public testing::Test {
 protected:
  /// Returns the report of a load of the demo model.
  boost::json::value bench_demo(const std::string& arguments) {
    const DemoServer server;
    const std::string json = (folder_.path() / "report.json").string();
    const ProgramRun outcome =
        run_weft("bench serve " + server.url() + " --json \"" + json + "\" " + arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("time to first token"));
    return boost::json::parse(read_text(json));
  }

  const TempFolder folder_;
};

TEST_F(BenchServeProgram, MeasuresExactlyTheLengthsThatItAsksFor) {
  const std::string page = (folder_.path() / "report.html").string();
  const auto report = bench_demo(
      "--rate 50 --requests 10 --input 5..9 --output 7 --slo-whole 60000 --html \"" + page + "\"");
  const auto& data = report.at("data");
  EXPECT_EQ(data.at("done"), 10);
  EXPECT_EQ(data.at("output_tokens"), 70);
  EXPECT_EQ(data.at("good"), 1.0);
  for (const auto& request : data.at("requests").as_array()) {
    EXPECT_EQ(request.at("prompt"), request.at("asked_prompt"));
    EXPECT_TRUE(request.at("error").is_null());
  }
  for (const auto& finding : report.at("findings").as_array()) {  // the host may have been too busy
    EXPECT_THAT(finding.as_string().c_str(),
                Not(AnyOf(HasSubstr("shorter than asked for"), HasSubstr("another length"))));
  }
  EXPECT_THAT(read_text(page), AllOf(HasSubstr("<svg"), HasSubstr("Requests under way")));
}

TEST_F(BenchServeProgram, AsksConversationsAndStreamsOfAWebSocket) {
  const std::string prompts =
      folder_.write("prompts.txt", "What is 2 + 3?\nWhat is 7 * 8?\n").string();
  for (const std::string api : {"chat", "responses --streams 3"}) {
    std::string arguments = "--concurrency 6 --requests 12 --output 5 --api ";
    arguments.append(api).append(" --prompts \"").append(prompts).append("\"");
    const auto report = bench_demo(arguments);
    const auto& data = report.at("data");
    EXPECT_EQ(data.at("done"), 12) << api;
    EXPECT_EQ(data.at("output_tokens"), 60) << api;
    EXPECT_GT(data.at("prompt_tokens").as_int64(), 12 * 5) << api;
  }
}

TEST_F(BenchServeProgram, PlaysATrace) {
  const std::string trace = folder_
                                .write("trace.csv",
                                       "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                       "2023-11-16 18:17:03.0000000,4808,10\n"
                                       "2023-11-16 18:17:04.0000000,11,300\n")
                                .string();
  const auto report =
      bench_demo("--trace \"" + trace + "\" --time-scale 0.1 --max-input 20 --max-output 12");
  const auto& requests = report.at("data").at("requests").as_array();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].at("prompt"), 20);
  EXPECT_EQ(requests[0].at("output"), 10);
  EXPECT_EQ(requests[1].at("due"), 0.1);
  EXPECT_EQ(requests[1].at("output"), 12);
}

TEST_F(BenchServeProgram, ReportsErrorsByKindAndFailsWhenNothingIsAnswered) {
  const StubServer server(StreamStub::plain("503 Busy", "text/html", "<h1>later</h1>"));
  const std::string command = "bench serve " + server.url() + " --requests 3 ";
  const ProgramRun outcome = run_weft(command + "--warm-up 0");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("0 of 3 requests were answered"),
                                    HasSubstr("The first of \"http 503\": <h1>later</h1>")));
  const ProgramRun warm = run_weft(command);
  EXPECT_EQ(warm.status, 1);
  EXPECT_THAT(warm.output, HasSubstr("no warm-up request was answered: http 503: <h1>later</h1>"));
}

TEST_F(BenchServeProgram, SaysThatAnswersWereShorterThanAskedFor) {
  const StubServer server(
      {.pieces = StreamStub::chunked({R"({"choices":[{"text":"x","finish_reason":"stop"}]})"})});
  const ProgramRun outcome = run_weft("bench serve " + server.url() + " --requests 2 --output 9");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("2 answers were shorter than asked for"));
}

TEST_F(BenchServeProgram, ReportsWhatWasMeasuredBeforeASignal) {
  std::atomic<int> asked{0};
  const StubServer server([&](const HttpStub::Request&) {
    if (++asked == 2) folder_.write("both_asked", "");
    return StreamStub::Script{
        .pieces = {StreamStub::head() + "data: {\"choices\":[{\"text\":\"x\"}]}\n\n"},
        .then = StreamStub::Script::Then::kHang};
  });
  const ProgramRun outcome =
      run_weft("bench serve " + server.url() +
                   " --warm-up 0 --concurrency 2 --requests 5 --json report.json > words 2>&1 & "
                   "while [ ! -e both_asked ]; do kill -0 $! || break; sleep 0.02; done; kill -INT "
                   "$!; wait $!; "
                   "status=$?; cat words; exit $status",
               "cd " + folder_.path().string() + "; set -m; ");
  EXPECT_EQ(outcome.status, 128 + SIGINT);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("stopped"), HasSubstr("3 requests were not sent")));
  const auto report = boost::json::parse(read_text((folder_.path() / "report.json").string()));
  EXPECT_EQ(report.at("data").at("asked"), 2);
}

TEST_F(BenchServeProgram, NamesTheFlagThatIsWrong) {
  for (const auto& [flags, words] :
       {std::pair("--input 0", "--input: \"0\""),
        {"--output 9..3", "--output: \"9..3\""},
        {"--arrivals poisson", "--arrivals poisson wants a --rate"},
        {"--arrivals at-once --rate 3", "--arrivals at-once has no --rate"},
        {"--arrivals whenever", "--arrivals"},
        {"--rate 0", "--rate"},
        {"--concurrency -1", "--concurrency"},
        {"--ids 9..3", "--ids: \"9..3\""},
        {"--ids x", "--ids: \"x\""},
        {"--extra [1]", "--extra: no JSON object"},
        {"--extra '{\"max_tokens\":1}'", "--extra: \"max_tokens\" is the load's"},
        {"--api telegraph", "--api"},
        {"--timeout 0", "--timeout"},
        {"--time-scale 2", "--trace"},
        {"--trace /nowhere", "/nowhere"},
        {"--trace x --rate 3", "--rate"},
        {"--prompts /nowhere", "/nowhere"},
        {"--json /nowhere/x", "/nowhere/x"},
        {"--slo-whole -1", "--slo-whole"}}) {
    const ProgramRun outcome = run_weft(std::string("bench serve http://127.0.0.1:1 ") + flags);
    EXPECT_NE(outcome.status, 0) << flags;
    EXPECT_THAT(outcome.output, HasSubstr(words));
    EXPECT_THAT(outcome.output, Not(HasSubstr("cannot connect"))) << flags;
  }
}

TEST_F(BenchServeProgram, SaysThatNobodyListens) {
  const ProgramRun outcome = run_weft("bench serve http://127.0.0.1:1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("cannot connect"));
  EXPECT_THAT(run_weft("bench serve nowhere").output, HasSubstr("begins with none of http://"));
}

}  // namespace
}  // namespace weft::test
