#include "weft/net/server/http_exchange.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

#include "weft/core/metrics.h"
#include "weft/net/defaults.h"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HttpExchangeTest : public testing::Test {
 protected:
  HttpExchangeTest() {
    header_.method(boost::beast::http::verb::post);
    header_.target("/v1/completions");
    header_.version(11);
  }
  /// One that the service, which drains, refuses.
  [[nodiscard]] std::unique_ptr<HttpExchange> refused() {
    service_.drain();  // before the threads of the connections hear of it
    auto exchange = std::make_unique<HttpExchange>(service_, client_, header_, true);
    EXPECT_FALSE(exchange->admit(header_));
    return exchange;
  }

  std::ostringstream log_;
  MetricsRegistry metrics_;
  Service service_{{},
                   ApiKeys(),
                   std::make_shared<RequestLog>(
                       std::make_shared<spdlog::logger>(
                           "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)),
                       RequestLog::Format::kText, false),
                   metrics_};
  const std::string client_ = "127.0.0.1";
  HttpExchange::Header header_;
  std::string said_;
};

TEST_F(HttpExchangeTest, WhatIsSaidOnceTheServiceDrainsIsTheLastOnItsConnection) {
  const auto exchange = refused();
  exchange->append_reply(exchange->take_refusal(), said_);
  EXPECT_THAT(said_, testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Connection: close")));
  EXPECT_FALSE(exchange->keep_alive());
}

TEST_F(HttpExchangeTest, ALargeReplyIsItsHeadAndThenItsBody) {
  const std::string body(net_defaults::kWriteBytes + 1, 'x');
  const auto exchange = refused();
  exchange->append_reply({.body = body}, said_);
  const std::size_t end_of_head = said_.find("\r\n\r\n") + 4;
  EXPECT_THAT(said_, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(said_.substr(0, end_of_head), HasSubstr(std::to_string(body.size())));
  EXPECT_EQ(said_.substr(end_of_head), body);
}

TEST_F(HttpExchangeTest, ALargeReplyStandsBehindWhatWasSaidBefore) {
  const std::string body(net_defaults::kWriteBytes + 1, 'x');
  const auto exchange = refused();
  said_ = "before ";
  exchange->append_reply({.body = body}, said_);
  EXPECT_THAT(said_, StartsWith("before HTTP/1.1 200"));
  EXPECT_EQ(said_.substr(said_.size() - body.size()), body);
}

TEST_F(HttpExchangeTest, SlashesTooManyDoNotChangeTheFormOfErrors) {
  header_.target("//v1/messages/");
  const auto exchange = refused();
  exchange->append_reply(exchange->take_refusal(), said_);
  EXPECT_THAT(said_, HasSubstr(R"({"type":"error","error":{"type":)"));
}

TEST_F(HttpExchangeTest, AReplyWhoseClientGoesBeforeItIsKnownToBeSentIsInTheLog) {
  const auto exchange = refused();
  exchange->append_reply(exchange->take_refusal(), said_);
  exchange->lose_client();
  exchange->break_off();
  EXPECT_THAT(log_.str(), testing::AllOf(HasSubstr("/v1/completions"), HasSubstr("503")));
}

TEST_F(HttpExchangeTest, ARequestWhoseClientGoesBeforeItIsAnsweredIsNot) {
  const auto exchange = refused();
  exchange->lose_client();
  exchange->break_off();
  EXPECT_EQ(log_.str(), "");
}

}  // namespace
}  // namespace weft::test
