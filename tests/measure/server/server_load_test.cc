// Loads against a server whose answers a test writes, and against a test's own client.

#include "weft/measure/server/server_load.h"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/measure/server/http_load_client.h"
#include "weft/tests/fixture/stream_stub.h"

namespace weft::measure {
namespace {

using test::HttpStub;
using test::StreamStub;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Then = StreamStub::Script::Then;

constexpr auto kToken = R"({"choices":[{"text":"x","finish_reason":null}]})";
constexpr auto kFinish = R"({"choices":[{"text":"","finish_reason":"length"}]})";
constexpr auto kUsage = R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}})";

class ServerLoadTest : public testing::Test {
 protected:
  void serve(StreamStub::Handler handler) { server_.emplace(std::move(handler)); }
  void serve(const StreamStub::Script& script) {
    serve([script](const HttpStub::Request&) { return script; });
  }
  std::vector<Outcome> play(Load load, std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    boost::asio::io_context context{1};
    const auto connector =
        Connector::create(context, {.url = parse_server_url(server_->url()).value()}).value();
    HttpLoadClient client(connector, {}, limit);
    ServerLoad player(context.get_executor(), std::move(load), client);
    int ends = 0;
    player.start([&] {
      ++ends;
      context.stop();
    });
    context.run();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(player.progress().ended, player.outcomes().size());
    words_ = player.words();
    return player.outcomes();
  }
  Outcome play_one(std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    return play({.arrivals = {{0, 3, 4}}}, limit).at(0);
  }

  std::optional<StreamStub> server_;
  std::map<std::string, std::string> words_;
};

TEST_F(ServerLoadTest, TakesTheServersCountsAndTheTimesOfThePieces) {
  serve({.pieces = StreamStub::chunked({kToken, kToken, kFinish, kUsage, "[DONE]"})});
  const Outcome outcome = play_one();
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.prompt, 9);
  EXPECT_EQ(outcome.output, 4);
  ASSERT_THAT(outcome.came, SizeIs(2));
  EXPECT_GT(outcome.came[0], 0);
  EXPECT_LE(outcome.came[0], outcome.came[1]);
  EXPECT_LE(outcome.came[1], outcome.end);
}

TEST_F(ServerLoadTest, CountsPiecesWhereTheServerCountsNothing) {
  serve({.pieces = StreamStub::chunked({kToken, kToken, kToken, kFinish})});
  const Outcome outcome = play_one();
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.output, 3);
  EXPECT_EQ(outcome.prompt, 0);
}

TEST_F(ServerLoadTest, FindsEveryTokenOfAReadThatHasSeveral) {
  serve({.pieces = {StreamStub::head() + "data: " + kToken + "\n\ndata: " + kToken +
                    "\n\ndata: " + kFinish + "\n\n"},
         .then = Then::kClose});
  EXPECT_THAT(play_one().came, SizeIs(2));
}

TEST_F(ServerLoadTest, TellsErrorsApart) {
  const auto error = [this](const StreamStub::Script& script) {
    serve(script);
    const Outcome outcome = play_one();
    server_.reset();
    return outcome.error;
  };
  EXPECT_EQ(error(StreamStub::plain("429 Too Many", "application/json",
                                    R"({"error":{"code":"overloaded","message":"full"}})")),
            "http 429 overloaded");
  EXPECT_EQ(words_.at("http 429 overloaded"), "full");
  EXPECT_EQ(error(StreamStub::plain("500 Oops", "text/html", "<html>sorry</html>")), "http 500");
  EXPECT_EQ(words_.at("http 500"), "<html>sorry</html>");
  EXPECT_EQ(error(StreamStub::plain("200 OK", "application/json", "{}")), "bad answer");
  EXPECT_EQ(error({.pieces = StreamStub::chunked({kToken, "{oops"})}), "bad answer");
  EXPECT_THAT(words_.at("bad answer"), HasSubstr("{oops"));
  EXPECT_EQ(error({.pieces = StreamStub::chunked({kToken, R"({"error":{"code":"broken"}})"})}),
            "error broken");
  EXPECT_EQ(error({.pieces = StreamStub::chunked({kToken})}), "cut off");
  EXPECT_EQ(
      error({.pieces = {StreamStub::head() + "data: " + kToken + "\n\n"}, .then = Then::kClose}),
      "cut off");
  EXPECT_EQ(error({.pieces = {}, .then = Then::kClose}), "lost");
}

TEST_F(ServerLoadTest, CountsWhatHadComeBeforeAnError) {
  serve({.pieces = StreamStub::chunked({kToken, kToken})});
  const Outcome outcome = play_one();
  EXPECT_EQ(outcome.error, "cut off");
  EXPECT_EQ(outcome.output, 2);
  EXPECT_THAT(outcome.came, SizeIs(2));
}

TEST_F(ServerLoadTest, GivesUpASlowAnswer) {
  serve({.pieces = {StreamStub::head() + "data: " + kToken + "\n\n"}, .then = Then::kHang});
  const Outcome outcome = play_one(std::chrono::milliseconds(100));
  EXPECT_EQ(outcome.error, "timeout");
  EXPECT_GE(outcome.end, 0.1);
}

TEST_F(ServerLoadTest, EndsWithTheWordThatAllIsSaidWhetherTheConnectionEndsOrNot) {
  for (const Then then : {Then::kHang, Then::kClose}) {
    auto pieces = StreamStub::chunked({kToken, kUsage, "[DONE]"});
    pieces.pop_back();
    serve({.pieces = pieces, .then = then});
    const Outcome outcome = play_one();
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.output, 4);
    server_.reset();
  }
}

TEST_F(ServerLoadTest, KeepsTheConnectionOfAStreamThatEndsAsItShould) {
  serve({.pieces = StreamStub::chunked({kToken, "[DONE]"})});
  for (const Outcome& outcome : play({.arrivals = {{0}, {0}, {0}}, .at_once = 1})) {
    EXPECT_EQ(outcome.error, "");
  }
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(ServerLoadTest, ShortensWhatAServerSays) {
  serve({.pieces = StreamStub::chunked({R"({"error":{"code":")" + std::string(1000, 'c') +
                                        R"(","message":")" + std::string(1000, 'm') + R"("}})"})});
  const std::string error = play_one().error;
  EXPECT_EQ(error, "error " + std::string(58, 'c'));
  EXPECT_EQ(words_.at(error), std::string(200, 'm'));
}

TEST_F(ServerLoadTest, AsksForTheLengthsOfTheLoad) {
  std::vector<std::string> bodies;
  serve([&bodies](const HttpStub::Request& request) {
    bodies.push_back(request.body());
    return StreamStub::Script{.pieces = StreamStub::chunked({kFinish})};
  });
  play({.arrivals = {{0, 3, 4}, {0, 5, 6}}, .at_once = 1});
  EXPECT_EQ(server_->connections(), 1);
  server_.reset();  // ends the server's thread, which writes `bodies`
  ASSERT_THAT(bodies, SizeIs(2));
  EXPECT_THAT(boost::json::parse(bodies[0]).at("prompt").as_array(), SizeIs(3));
  EXPECT_EQ(boost::json::parse(bodies[1]).at("max_tokens"), 6);
}

/// A client that answers nothing by itself.
class SilentClient final : public LoadClient {
 public:
  void ask(std::shared_ptr<AnswerMeter> meter) override { asked.push_back(std::move(meter)); }
  void stop() override { stopped = true; }
  void answer(std::size_t which) const {
    asked.at(which)->add({.piece = true, .finished = true}, std::chrono::steady_clock::now());
    asked.at(which)->end(std::chrono::steady_clock::now());
  }

  std::vector<std::shared_ptr<AnswerMeter>> asked;
  bool stopped = false;
};

class LoadTimesTest : public testing::Test {
 protected:
  boost::asio::io_context context_{1};
  SilentClient client_;
};

TEST_F(LoadTimesTest, SendsEachAtItsTimeWhateverBecameOfThoseBefore) {
  ServerLoad load(context_.get_executor(), {.arrivals = {{0}, {0.01}, {0.02}}}, client_);
  bool ended = false;
  load.start([&ended] { ended = true; });
  context_.run();
  EXPECT_THAT(client_.asked, SizeIs(3));
  EXPECT_FALSE(ended);
  for (std::size_t i = 0; i < 3; ++i) client_.answer(i);
  EXPECT_TRUE(ended);
  for (const Outcome& outcome : load.outcomes()) {
    EXPECT_GE(outcome.sent, outcome.asked.at);
    EXPECT_EQ(outcome.began, outcome.asked.at);
    EXPECT_GE(outcome.end, outcome.sent - outcome.began);
  }
}

TEST_F(LoadTimesTest, CountsFromWhenItWasDueWhatWaitedForItsTurn) {
  ServerLoad load(context_.get_executor(), {.arrivals = {{0}, {0.01}}, .at_once = 1}, client_);
  load.start([] {});
  context_.run();
  ASSERT_THAT(client_.asked, SizeIs(1));
  client_.answer(0);
  ASSERT_THAT(client_.asked, SizeIs(2));
  client_.answer(1);
  const Outcome& second = load.outcomes().at(1);
  EXPECT_EQ(second.began, 0.01);
  EXPECT_GE(second.sent, load.outcomes().at(0).end);
  EXPECT_GE(second.end, second.sent - second.began);
}

TEST_F(LoadTimesTest, CountsFromWhenItWasSentInAClosedLoop) {
  ServerLoad load(context_.get_executor(), {.arrivals = {{0}, {0}, {0}}, .at_once = 2}, client_);
  load.start([] {});
  EXPECT_THAT(client_.asked, SizeIs(2));
  client_.answer(1);
  ASSERT_THAT(client_.asked, SizeIs(3));
  EXPECT_EQ(load.progress().under_way(), 2U);
  client_.answer(0);
  client_.answer(2);
  for (const Outcome& outcome : load.outcomes()) EXPECT_EQ(outcome.began, outcome.sent);
}

TEST_F(LoadTimesTest, HasAnOutcomeForEachWhenItIsStopped) {
  ServerLoad load(context_.get_executor(), {.arrivals = {{0}, {0}, {0}, {3600}}, .at_once = 2},
                  client_);
  int ends = 0;
  load.start([&ends] { ++ends; });
  client_.answer(0);
  load.stop();
  load.stop();
  context_.run();  // ends: nothing waits for the hour
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(client_.stopped);
  std::vector<std::string> errors;
  for (const Outcome& outcome : load.outcomes()) errors.push_back(outcome.error);
  EXPECT_THAT(errors, ElementsAre("", "stopped", "stopped", "not sent"));
  client_.answer(1);  // too late to count
  EXPECT_EQ(load.outcomes().at(1).error, "stopped");
}

TEST_F(LoadTimesTest, TellsNoMoreKindsOfErrorsApartThanAPersonReads) {
  constexpr std::size_t kMore = ServerLoad::kKinds + 10;
  ServerLoad load(context_.get_executor(), {.arrivals = std::vector<Arrival>(kMore)}, client_);
  load.start([] {});
  ASSERT_THAT(client_.asked, SizeIs(kMore));
  for (std::size_t i = 0; i < kMore; ++i) {
    client_.asked[i]->fail("error " + std::to_string(i), {}, std::chrono::steady_clock::now());
  }
  EXPECT_THAT(load.words(), SizeIs(ServerLoad::kKinds + 1));
  EXPECT_EQ(load.outcomes().front().error, "error 0");
  EXPECT_EQ(load.outcomes().back().error, ServerLoad::kOthers);
}

TEST_F(LoadTimesTest, EndsAtOnceWithoutRequests) {
  ServerLoad load(context_.get_executor(), {}, client_);
  bool ended = false;
  load.start([&ended] { ended = true; });
  EXPECT_TRUE(ended);
}

TEST_F(LoadTimesTest, KnowsHowMuchHasComeSoFar) {
  ServerLoad load(context_.get_executor(), {.arrivals = {{0}, {0}}}, client_);
  load.start([] {});
  client_.asked[0]->add({.piece = true}, std::chrono::steady_clock::now());
  client_.asked[0]->add({.piece = true}, std::chrono::steady_clock::now());
  EXPECT_EQ(load.output_so_far(), 2);
  client_.answer(1);
  EXPECT_EQ(load.output_so_far(), 3);
}

}  // namespace
}  // namespace weft::measure
