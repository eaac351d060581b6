// `weft batch` as a user runs it: against a server that answers at once, and on the demo model.

#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <string>

#include "weft/tests/cli/child_program.h"
#include "weft/tests/cli/demo_server.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/http_stub.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

const std::string model_path = source_path("examples/demo_model/model");

std::string request(int number, const std::string& prompt) {
  return R"({"custom_id":"r)" + std::to_string(number) +
         R"(","method":"POST","url":"/v1/chat/completions","body":{"max_tokens":20,)"
         R"("temperature":0,"messages":[{"role":"user","content":")" +
         prompt + "\"}]}}\n";
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Reads the results and expects whole lines only, with each custom_id once.
std::map<std::string, boost::json::object> results_in(const std::string& path) {
  std::map<std::string, boost::json::object> results;
  std::istringstream lines(read(path));
  for (std::string text; std::getline(lines, text);) {
    auto line = boost::json::parse(text).as_object();
    const std::string id(line.at("custom_id").as_string());
    EXPECT_TRUE(results.emplace(id, std::move(line)).second) << id << " is doubled";
  }
  return results;
}

/// Answers with the request's own text.
HttpStub::Reply echo(const HttpStub::Request& request) {
  const auto body = boost::json::parse(request.body());
  const auto& messages = body.at("messages").as_array();
  return HttpStub::reply(
      200, R"({"echo":")" + std::string(messages[0].at("content").as_string()) + "\"}");
}

/// Makes a command line.
std::string command(const std::string& where, const std::string& in, const std::string& out) {
  return "batch \"" + where + "\" \"" + in + "\" \"" + out + "\" ";
}

class BatchProgram : public testing::Test {
 protected:
  const TempFolder folder_;
  const std::string out_ = (folder_.path() / "out.jsonl").string();
};

TEST_F(BatchProgram, LosesAndDoublesNothingWhenItIsKilledAndStartedAgain) {
  constexpr int kRequests = 400;
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += request(i, "p" + std::to_string(i));
  const std::string in = folder_.write("in.jsonl", requests).string();

  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::mutex mutex;  // keeps the victim while it is killed
  const ChildProgram* victim = nullptr;
  std::atomic<int> until_death{0};
  HttpStub server([&](const HttpStub::Request& asked) {
    if (--until_death == 0) {
      const std::scoped_lock lock(mutex);
      if (victim != nullptr) victim->kill_now();
    }
    return echo(asked);
  });

  int kills = 0;
  for (int status = -1; status != 0; ++kills) {
    ASSERT_LT(kills, 100);
    until_death = std::uniform_int_distribution(1, 80)(random);
    ChildProgram child({"batch", server.url(), in, out_, "--concurrency", "8"});
    const auto set_victim = [&](const ChildProgram* which) {
      const std::scoped_lock lock(mutex);
      victim = which;
    };
    set_victim(&child);
    status = child.wait();
    set_victim(nullptr);
    ASSERT_TRUE(status == 0 || status == -1) << status;
  }
  EXPECT_GT(kills, 3);
  const auto results = results_in(out_);
  EXPECT_EQ(results.size(), kRequests);
  for (int i = 0; i < kRequests; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_EQ(results.at("r" + number).at("response").at("body").at("echo"),
              boost::json::value("p" + number));
  }
}

TEST_F(BatchProgram, AsksAgainWhenTheServerIsFullOrHangsUp) {
  std::atomic<int> asked{0};
  HttpStub server([&](const HttpStub::Request& request) -> std::optional<HttpStub::Reply> {
    const int number = asked++;
    if (number == 0) return std::nullopt;
    if (number > 1) return echo(request);
    auto full = HttpStub::reply(429, R"({"error":{"message":"full"}})");
    full.set(boost::beast::http::field::retry_after, "0");
    return full;
  });
  const std::string in = folder_.write("in.jsonl", request(1, "x") + request(2, "y")).string();
  const ProgramRun outcome = run_weft(command(server.url(), in, out_));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("2 requests: 2 answered, 0 failed"));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(results_in(out_).size(), 2U);
}

TEST_F(BatchProgram, ShowsItsKeyAndKeepsTheUrlsPath) {
  std::string target;
  std::string key;
  std::optional<HttpStub> server;
  server.emplace([&](const HttpStub::Request& request) {
    target = request.target();
    key = request[boost::beast::http::field::authorization];
    return echo(request);
  });
  const std::string in = folder_.write("in.jsonl", request(1, "x")).string();
  EXPECT_EQ(run_weft(command(server->url() + "/proxy/v1/", in, out_) + "--api-key secret").status,
            0);
  server.reset();  // ends the server's thread, which writes these
  EXPECT_EQ(target, "/proxy/v1/chat/completions");
  EXPECT_EQ(key, "Bearer secret");
}

TEST_F(BatchProgram, RefusesAFileWhoseResultsCouldNotBeToldApart) {
  const std::string in =
      folder_.write("in.jsonl", request(1, "x") + "{oops\n" + request(1, "y")).string();
  const ProgramRun outcome = run_weft(command("http://127.0.0.1:1", in, out_));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("line 2 is no JSON"));
  EXPECT_THAT(outcome.output, HasSubstr("line 3 has the custom_id of line 1"));
}

TEST_F(BatchProgram, LeavesAForeignFileAlone) {
  const std::string in = folder_.write("in.jsonl", request(1, "x")).string();
  for (const auto& [text, what] : {std::pair("my notes\nand no end", "line 1 is no JSON"),
                                   {"{\"minified\": 1}", "line 1 has no end"},
                                   {"a note", "line 1 has no end"}}) {
    const std::string precious = folder_.write("notes.txt", text).string();
    const ProgramRun outcome = run_weft(command("http://127.0.0.1:1", in, precious));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.output, HasSubstr(std::string("notes.txt: ") + what));
    EXPECT_EQ(read(precious), text);
  }
}

TEST_F(BatchProgram, LeavesItsRequestsAlone) {
  std::string unended = request(1, "x") + request(2, "y");
  unended.pop_back();
  for (const std::string& requests : {request(1, "x"), unended}) {
    const std::string in = folder_.write("in.jsonl", requests).string();
    const ProgramRun outcome = run_weft(command("http://127.0.0.1:1", in, in));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.output, HasSubstr("in.jsonl holds the requests"));
    EXPECT_EQ(read(in), requests);
  }
}

TEST_F(BatchProgram, AsksNoMoreAtOnceThanItMayHaveConnections) {
  HttpStub server(echo);
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += request(i, "x");
  const std::string in = folder_.write("in.jsonl", requests).string();
  const std::string batch = command(server.url(), in, out_) + "--concurrency 100";
  const ProgramRun outcome = run_weft(batch, "ulimit -n 40; ");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("8 requests at once: the system allows no more"));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("asked again")));
  EXPECT_THAT(outcome.output, HasSubstr("100 answered, 0 failed"));
  std::filesystem::remove(out_);
  const ProgramRun raised = run_weft(batch, "ulimit -Sn 40; ");
  EXPECT_EQ(raised.status, 0);
  EXPECT_THAT(raised.output, testing::StartsWith("100 requests: 100 answered"));
}

TEST_F(BatchProgram, TellsWhichSignalHasEndedIt) {
  HttpStub server([](const HttpStub::Request&) {
    return HttpStub::reply(503, R"({"error":{"code":"loading","message":"loading"}})");
  });
  const std::string in = folder_.write("in.jsonl", request(1, "x")).string();
  for (const int signal : {SIGINT, SIGTERM}) {
    // The program's own first words are the sign that it listens to signals.
    const ProgramRun outcome =
        run_weft(command(server.url(), in, out_) +
                     " 2>words & while ! grep -q loading words; do :; done; kill -" +
                     std::to_string(signal) + " $!; wait $!",
                 "cd " + folder_.path().string() + "; set -m; rm -f words; touch words; ");
    EXPECT_EQ(outcome.status, 128 + signal);
  }
}

TEST_F(BatchProgram, WritesIntoAPipe) {
  HttpStub server(echo);
  const std::string in = folder_.write("in.jsonl", request(1, "x")).string();
  const ProgramRun outcome = run_weft(command(server.url(), in, "/dev/stdout") + " | cat");
  EXPECT_THAT(outcome.output, HasSubstr("1 request: 1 answered, 0 failed"));
  EXPECT_THAT(outcome.output, HasSubstr(R"("body":{"echo":"x"})"));
}

TEST_F(BatchProgram, RunsAModelInItsOwnProcess) {
  const std::string in =
      folder_
          .write("in.jsonl", request(1, "What is 12 + 30?") + request(2, "What is 7 * 8?") +
                                 R"({"custom_id":"bad","method":"POST","url":"/v1/completions",)" +
                                 R"("body":{"prompt":"x","top_p":7}})")
          .string();
  const ProgramRun outcome = run_weft(command(model_path, in, out_));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const auto results = results_in(out_);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(
      results.at("r1").at("response").at("body").at("choices").at(0).at("message").at("content"),
      "12 + 30 = 42.");
  EXPECT_EQ(results.at("bad").at("response").at("status_code"), 400);
}

TEST_F(BatchProgram, AsksForVectorsAndMessagesToo) {
  const auto line = [](const std::string& id, const std::string& path, const std::string& body) {
    return R"({"custom_id":")" + id + R"(","method":"POST","url":")" + path + R"(","body":)" +
           body + "}\n";
  };
  const std::string in =
      folder_
          .write("in.jsonl",
                 line("vectors", "/v1/embeddings", R"({"input":["a","b"]})") +
                     line("ranks", "/v2/rerank", R"({"query":"a","documents":["b","a"]})") +
                     line("message", "/v1/messages",
                          R"({"max_tokens":20,"temperature":0,"messages":[{"role":"user",)"
                          R"("content":"What is 12 + 30?"}]})"))
          .string();
  DemoServer server;
  for (const std::string& where : {server.url(), model_path}) {
    const std::string out = (folder_.path() / (where == model_path ? "own" : "remote")).string();
    const ProgramRun outcome = run_weft(command(where, in, out));
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    const auto results = results_in(out);
    ASSERT_EQ(results.size(), 3U);
    const auto body = [&](const char* id) { return results.at(id).at("response").at("body"); };
    EXPECT_EQ(body("vectors").at("data").as_array().size(), 2U);
    EXPECT_EQ(body("ranks").at("results").at(0).at("index"), 1);
    EXPECT_EQ(body("message").at("content").at(0).at("text"), "12 + 30 = 42.");
  }
}

}  // namespace
}  // namespace weft::test
