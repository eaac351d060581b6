#include "weft/cli/batch/batch_runner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <deque>
#include <map>
#include <string>

#include "weft/net/net_error.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cli {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

std::string numbered_request(int number) {
  return R"({"custom_id":"r)" + std::to_string(number) +
         R"(","method":"POST","url":"/v1/completions","body":{"prompt":"p)" +
         std::to_string(number) + "\"}}\n";
}

/// Answers as a script says, in the order of its questions; without a script, with 200.
class FakeBackend final : public BatchBackend {
 public:
  boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path, std::string body) override {
    paths.push_back(path);
    bodies.push_back(body);
    most_at_once = std::max(most_at_once, ++now);
    co_await boost::asio::post(boost::asio::use_awaitable);
    co_await boost::asio::post(boost::asio::use_awaitable);
    --now;
    if (script.empty()) co_return HttpAnswer{.status = 200, .body = "{}", .request_id = "req"};
    Result<HttpAnswer> answer = std::move(script.front());
    script.pop_front();
    co_return answer;
  }

  std::deque<Result<HttpAnswer>> script;
  std::vector<std::string> paths, bodies;
  int now = 0;
  int most_at_once = 0;
};

class BatchRunnerTest : public testing::Test {
 protected:
  /// Runs to the end and returns the results by their custom_id.
  std::map<std::string, boost::json::object> run(const std::string& requests,
                                                 BatchRunner::Options options = {}) {
    options.first_pause = milliseconds(0);
    const std::string path = (folder_.path() / "out.jsonl").string();
    auto output = BatchOutput::open(path);
    BatchJournal journal;
    EXPECT_THAT(journal.read_requests(requests), testing::IsEmpty());
    boost::asio::io_context context;
    BatchRunner runner(context, backend_, journal, *output, options);
    runner.start([this](const BatchRunner::Tally&) { ++told_; });
    context.run();
    tally_ = runner.tally();
    failure_ = runner.failure();
    std::map<std::string, boost::json::object> results;
    std::string text = output->read().value();
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      auto line = boost::json::parse(text.substr(0, end)).as_object();
      text.erase(0, end + 1);
      const std::string id(line.at("custom_id").as_string());
      EXPECT_TRUE(results.emplace(id, std::move(line)).second) << id << " is doubled";
    }
    EXPECT_EQ(text, "");
    return results;
  }

  const test::TempFolder folder_;
  FakeBackend backend_;
  BatchRunner::Tally tally_;
  std::optional<Error> failure_;
  int told_ = 0;
};

TEST_F(BatchRunnerTest, AsksEveryLineWithBoundedConcurrency) {
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += numbered_request(i);
  EXPECT_EQ(run(requests, {.concurrency = 7}).size(), 50U);
  EXPECT_EQ(backend_.most_at_once, 7);
  EXPECT_EQ(tally_.answered, 50U);
  EXPECT_EQ(told_, 50);
}

TEST_F(BatchRunnerTest, AsksInTheClassOfBatchesUnlessTheLineSaysOtherwise) {
  run(numbered_request(1) + R"({"custom_id":"x","method":"POST","url":"/v1/chat/completions",)"
                            R"("body":{"service_tier":"default","model":"m"}})",
      {.concurrency = 1});
  EXPECT_EQ(boost::json::parse(backend_.bodies[0]).at("service_tier"), "flex");
  EXPECT_FALSE(boost::json::parse(backend_.bodies[0]).as_object().contains("model"));
  EXPECT_EQ(boost::json::parse(backend_.bodies[1]).at("service_tier"), "default");
  EXPECT_EQ(boost::json::parse(backend_.bodies[1]).at("model"), "m");
  EXPECT_THAT(backend_.paths, ElementsAre("/v1/completions", "/v1/chat/completions"));
}

TEST_F(BatchRunnerTest, AsksForTheModelThatItIsTold) {
  run(numbered_request(1), {.model = "mine"});
  EXPECT_EQ(boost::json::parse(backend_.bodies[0]).at("model"), "mine");
}

TEST_F(BatchRunnerTest, AsksAgainWhatWasRefusedForNowOrLost) {
  backend_.script = {HttpAnswer{.status = 429}, HttpAnswer{.status = 503},
                     Error{NetErrc::kLost, "gone"}, HttpAnswer{.status = 502},
                     HttpAnswer{.status = 200, .body = R"({"text":"yes"})"}};
  const auto results = run(numbered_request(1));
  EXPECT_EQ(backend_.bodies.size(), 5U);
  EXPECT_EQ(results.at("r1").at("response").at("body").at("text"), "yes");
}

TEST_F(BatchRunnerTest, AsksAFullServerForAsLongAsItTakesAndSaysWhyOnce) {
  for (int i = 0; i < 100; ++i) {
    backend_.script.emplace_back(
        HttpAnswer{.status = 429, .body = R"({"error":{"message":"full"}})"});
  }
  backend_.script.emplace_back(HttpAnswer{.status = 503});
  std::vector<std::string> reasons;
  const auto note = [&reasons](const std::string& why) { reasons.push_back(why); };
  EXPECT_EQ(run(numbered_request(1), {.on_wait = note}).size(), 1U);
  EXPECT_EQ(tally_.answered, 1U);
  EXPECT_THAT(reasons, ElementsAre("full", "status 503"));
}

TEST_F(BatchRunnerTest, StopsWithoutAResultWhenTheEngineHasFailedForGood) {
  backend_.script = {
      HttpAnswer{.status = 503, .body = R"({"error":{"code":"loading","message":"loading"}})"},
      HttpAnswer{.status = 503, .body = R"({"error":{"code":"not_ready","message":"broken"}})"}};
  EXPECT_TRUE(run(numbered_request(1) + numbered_request(2), {.concurrency = 1}).empty());
  ASSERT_TRUE(failure_);
  EXPECT_THAT(to_string(*failure_), HasSubstr("broken"));
}

TEST_F(BatchRunnerTest, WaitsAsLongAsTheServerSays) {
  backend_.script = {HttpAnswer{.status = 429, .retry_after = milliseconds(30)}};
  const auto began = std::chrono::steady_clock::now();
  run(numbered_request(1));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(30));
}

TEST_F(BatchRunnerTest, WritesWhatTheServerSaysOfABadRequest) {
  backend_.script = {HttpAnswer{.status = 400, .body = R"({"error":{"message":"bad"}})"}};
  const auto results = run(numbered_request(1) + numbered_request(2), {.concurrency = 1});
  EXPECT_EQ(results.at("r1").at("response").at("status_code"), 400);
  EXPECT_EQ(results.at("r1").at("response").at("body").at("error").at("message"), "bad");
  EXPECT_EQ(tally_.failed, 1U);
  EXPECT_EQ(tally_.answered, 1U);
}

TEST_F(BatchRunnerTest, WritesWhyALineCannotBeAsked) {
  const auto results = run(numbered_request(1) + R"({"custom_id":"x","method":"GET"})");
  EXPECT_EQ(backend_.bodies.size(), 1U);
  EXPECT_THAT(std::string(results.at("x").at("error").at("message").as_string()),
              HasSubstr("line 2: method"));
}

TEST_F(BatchRunnerTest, GivesAServerThatFailsOnEveryTryAResultOfItsOwn) {
  for (int i = 0; i < 10; ++i) backend_.script.emplace_back(HttpAnswer{.status = 500});
  EXPECT_EQ(run(numbered_request(1)).at("r1").at("response").at("status_code"), 500);
  EXPECT_FALSE(failure_);
}

TEST_F(BatchRunnerTest, StopsWithoutAResultWhenTheServerCannotBeReached) {
  for (int i = 0; i < 100; ++i) backend_.script.emplace_back(Error{NetErrc::kCannotConnect, "no"});
  EXPECT_TRUE(run(numbered_request(1) + numbered_request(2)).empty());
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->code, make_error_code(NetErrc::kCannotConnect));
}

TEST_F(BatchRunnerTest, StopsWithoutAResultWhenTheKeyIsWrong) {
  backend_.script = {HttpAnswer{.status = 401}};
  EXPECT_TRUE(run(numbered_request(1) + numbered_request(2), {.concurrency = 1}).empty());
  ASSERT_TRUE(failure_);
  EXPECT_THAT(to_string(*failure_), HasSubstr("--api-key"));
}

}  // namespace
}  // namespace weft::cli
