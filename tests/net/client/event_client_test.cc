// EventClient against a server whose answers a test writes.

#include "weft/net/client/event_client.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/net_error.h"
#include "weft/tests/fixture/stream_stub.h"

namespace weft {
namespace {

using test::HttpStub;
using test::StreamStub;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Then = StreamStub::Script::Then;

constexpr std::chrono::milliseconds kLong = std::chrono::seconds(30);

class EventClientTest : public testing::Test {
 protected:
  void serve(StreamStub::Handler handler) {
    server_.emplace(std::move(handler));
    const ClientOptions options{.url = parse_server_url(server_->url() + "/proxy/v1").value(),
                                .api_key = "secret"};
    client_.emplace(Connector::create(context_, options).value());
  }
  void serve(const StreamStub::Script& script) {
    serve([script](const HttpStub::Request&) { return script; });
  }
  /// Asks, and collects the events in events_.
  Result<EventAnswer> ask(std::chrono::milliseconds limit = kLong) {
    std::optional<Result<EventAnswer>> answer;
    events_.clear();
    const auto on_event = [this](std::string_view data, EventClient::Clock::time_point at) {
      EXPECT_GE(at, last_);
      last_ = at;
      events_.emplace_back(data);
      if (close_at_first_) client_->close();
    };
    boost::asio::co_spawn(context_, client_->ask("/v1/completions", "{}", limit, on_event),
                          [&answer](const std::exception_ptr& failure, Result<EventAnswer> got) {
                            if (failure) std::rethrow_exception(failure);
                            answer.emplace(std::move(got));
                          });
    context_.restart();
    context_.run();
    return *std::move(answer);
  }
  void expect_error(const Result<EventAnswer>& answer, NetErrc code, const std::string& words) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, make_error_code(code)) << to_string(answer.error());
    EXPECT_THAT(answer.error().detail, HasSubstr(words));
  }

  boost::asio::io_context context_{1};
  std::optional<StreamStub> server_;
  std::optional<EventClient> client_;
  std::vector<std::string> events_;
  EventClient::Clock::time_point last_{};
  bool close_at_first_ = false;
};

TEST_F(EventClientTest, TellsEachEventAndKeepsTheConnection) {
  std::string seen;
  serve([&seen](const HttpStub::Request& request) {
    seen = std::string(request.method_string()) + ' ' + std::string(request.target()) + ' ' +
           std::string(request["Authorization"]) + ' ' + request.body();
    return StreamStub::Script{.pieces = StreamStub::chunked({"one", "two", "[DONE]"})};
  });
  for (int i = 0; i < 3; ++i) {
    const auto answer = ask();
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, 200U);
    EXPECT_TRUE(answer->streamed);
    EXPECT_THAT(events_, ElementsAre("one", "two", "[DONE]"));
  }
  EXPECT_EQ(server_->connections(), 1);
  server_.reset();  // ends the server's thread, which writes `seen`
  EXPECT_EQ(seen, "POST /proxy/v1/completions Bearer secret {}");
}

TEST_F(EventClientTest, ReadsAStreamThatComesByteByByte) {
  std::string whole;
  for (const std::string& piece : StreamStub::chunked({"one", "two"})) whole += piece;
  StreamStub::Script script;
  for (const char byte : whole) script.pieces.emplace_back(1, byte);
  serve(script);
  ASSERT_TRUE(ask());
  EXPECT_THAT(events_, ElementsAre("one", "two"));
}

TEST_F(EventClientTest, ReadsAStreamThatEndsWithItsConnection) {
  serve({.pieces = {StreamStub::head(), "data: one\n\ndata: t", "wo\n\ndata: begun"},
         .then = Then::kClose});
  for (int i = 0; i < 2; ++i) {
    const auto answer = ask();
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_THAT(events_, ElementsAre("one", "two"));
  }
  EXPECT_EQ(server_->connections(), 2);
}

TEST_F(EventClientTest, GivesTheBodyOfWhatIsNoStream) {
  serve(StreamStub::plain("429 Too Many Requests", "application/json", R"({"error":{}})"));
  for (int i = 0; i < 2; ++i) {
    const auto answer = ask();
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, 429U);
    EXPECT_FALSE(answer->streamed);
    EXPECT_EQ(answer->body, R"({"error":{}})");
    EXPECT_THAT(events_, IsEmpty());
  }
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(EventClientTest, KeepsOnlyTheBeginningOfALargeErrorPage) {
  serve(StreamStub::plain("500 Oops", "text/html", "<html>" + std::string(1 << 20, ' ')));
  const auto answer = ask();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->status, 500U);
  EXPECT_THAT(answer->body, testing::StartsWith("<html>"));
  EXPECT_LE(answer->body.size(), std::size_t{64} << 10);
}

TEST_F(EventClientTest, ConnectsAnewWhenTheServerHasClosedAKeptConnection) {
  serve({.pieces = StreamStub::chunked({"one"}), .then = Then::kClose});
  ASSERT_TRUE(ask());
  ASSERT_TRUE(ask());
  EXPECT_THAT(events_, ElementsAre("one"));
  EXPECT_EQ(server_->connections(), 2);
}

TEST_F(EventClientTest, SaysThatAnAnswerWasCutOff) {
  auto pieces = StreamStub::chunked({"one", "two"});
  pieces.pop_back();
  serve({.pieces = pieces, .then = Then::kClose});
  expect_error(ask(), NetErrc::kLost, "it ended within an answer");
  EXPECT_THAT(events_, ElementsAre("one", "two"));
}

TEST_F(EventClientTest, SaysThatThereWasNoAnswerAtAll) {
  serve({.pieces = {}, .then = Then::kClose});
  expect_error(ask(), NetErrc::kLost, "the server has closed the connection");
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(EventClientTest, SaysThatNobodyListens) {
  serve(StreamStub::Script{});
  server_.reset();
  expect_error(ask(), NetErrc::kCannotConnect, "refused");
}

TEST_F(EventClientTest, GivesUpAConnectionWhenItsTimeIsOver) {
  const boost::asio::ip::tcp::acceptor silent(context_,
                                              {boost::asio::ip::make_address("127.0.0.1"), 0});
  const std::string url = "https://127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  client_.emplace(Connector::create(context_, {.url = parse_server_url(url).value()}).value());
  const auto began = EventClient::Clock::now();
  expect_error(ask(std::chrono::milliseconds(50)), NetErrc::kTimeout, url);
  EXPECT_LT(EventClient::Clock::now() - began, Connector::kConnectLimit);
}

TEST_F(EventClientTest, GivesUpWhenItsTimeIsOver) {
  serve({.pieces = {StreamStub::head(), "data: one\n\n"}, .then = Then::kHang});
  expect_error(ask(std::chrono::milliseconds(100)), NetErrc::kTimeout, "http://127.0.0.1");
}

TEST_F(EventClientTest, CanBeClosedByWhoHearsAnEvent) {
  serve({.pieces = {StreamStub::head() + "data: one\n\ndata: two\n\n"}, .then = Then::kHang});
  close_at_first_ = true;
  expect_error(ask(), NetErrc::kLost, "closed");
  EXPECT_THAT(events_, ElementsAre("one"));
}

TEST_F(EventClientTest, SaysWhatIsNoHttp) {
  serve({.pieces = {"SSH-2.0-OpenSSH_9.2\r\n\r\n"}, .then = Then::kClose});
  expect_error(ask(), NetErrc::kBadAnswer, "bad version");
}

TEST_F(EventClientTest, StopsAtAnEventWithoutAnEnd) {
  StreamStub::Script script{.pieces = {StreamStub::head() + "data: "}, .then = Then::kHang};
  for (int i = 0; i < 17; ++i) script.pieces.emplace_back(std::size_t{1} << 20, 'x');
  serve(script);
  expect_error(ask(), NetErrc::kBadAnswer, "an event is too large");
}

TEST_F(EventClientTest, AsksAgainAfterAnEventThatWasTooLarge) {
  int asked = 0;
  serve([&asked](const HttpStub::Request&) {
    if (++asked == 2) return StreamStub::Script{.pieces = StreamStub::chunked({"one"})};
    StreamStub::Script script{.pieces = {StreamStub::head() + "data: "}, .then = Then::kHang};
    for (int i = 0; i < 17; ++i) script.pieces.emplace_back(std::size_t{1} << 20, 'x');
    return script;
  });
  expect_error(ask(), NetErrc::kBadAnswer, "an event is too large");
  const auto answer = ask();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_THAT(events_, ElementsAre("one"));
  server_.reset();  // ends the server's thread, which writes `asked`
}

TEST_F(EventClientTest, TellsTheStatusOfAnAnswerWithoutABody) {
  int asked = 0;
  serve([&asked](const HttpStub::Request&) {
    if (++asked == 2) return StreamStub::Script{.pieces = StreamStub::chunked({"one"})};
    return StreamStub::plain("503 Busy", "text/plain", "");
  });
  for (const unsigned status : {503U, 200U, 503U}) {
    const auto answer = ask();
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->streamed, status == 200);
    EXPECT_EQ(answer->body, "");
  }
  EXPECT_EQ(server_->connections(), 1);
  server_.reset();  // ends the server's thread, which writes `asked`
}

}  // namespace
}  // namespace weft
