#include "weft/net/server/http_exchange.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

#include "weft/core/metrics.h"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(HttpExchangeTest, WhatIsSaidOnceTheServiceDrainsIsTheLastOnItsConnection) {
  MetricsRegistry metrics;
  auto logger =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  Service service({}, ApiKeys(),
                  std::make_shared<RequestLog>(std::move(logger), RequestLog::Format::kText, false),
                  metrics);
  service.drain();  // before the threads of the connections hear of it
  HttpExchange::Header header;
  header.method(boost::beast::http::verb::post);
  header.target("/v1/completions");
  header.version(11);
  const std::string client = "127.0.0.1";
  HttpExchange exchange(service, client, header, true);
  ASSERT_FALSE(exchange.admit(header));
  std::string said;
  exchange.append_reply(exchange.take_refusal(), said);
  EXPECT_THAT(said, testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Connection: close")));
  EXPECT_FALSE(exchange.keep_alive());
}

}  // namespace
}  // namespace weft::test
