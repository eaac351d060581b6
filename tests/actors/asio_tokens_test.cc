// Which completion tokens operations take; docs/asio-compliance.md has a row for each test.

#include <gtest/gtest.h>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "weft/tests/actors/asio_compliance_fixture.h"
#include "weft/tests/actors/counting_allocator.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using test::AllocationLog;
using test::AsioCompliance;
using test::CountingAllocator;
using test::GotResult;
using test::prompt;

TEST_F(AsioCompliance, TakesACallback) {
  std::string text;
  engine->async_generate(prompt(), [&](error_code error, const GenerationResult& result) {
    EXPECT_FALSE(error);
    text = result.choices.at(0).text;
  });
  port->say(0, "said");
  port->finish(0);
  poll();
  EXPECT_EQ(text, "said");
}

TEST_F(AsioCompliance, TakesACallbackThatIsAnLvalue) {
  int calls = 0;
  const auto callback = [&](error_code, const GenerationResult&) { ++calls; };
  engine->async_generate(prompt(), callback);
  engine->async_generate(prompt(), callback);
  port->finish(0);
  port->finish(1);
  poll();
  EXPECT_EQ(calls, 2);
}

TEST_F(AsioCompliance, TakesAMoveOnlyHandler) {
  int sum = 0;
  const auto holding = [&](int value) {
    return [&sum, kept = std::make_unique<int>(value)](error_code, auto&&...) { sum += *kept; };
  };
  TokenStream stream = open();
  stream.async_next(holding(1));
  engine->async_generate(prompt(), holding(2));
  engine->async_open(prompt(), holding(4));
  engine->async_drain(holding(8));
  engine->async_shutdown(holding(16));
  port->end_asked();
  poll();
  EXPECT_EQ(sum, 31);
}

TEST_F(AsioCompliance, TakesUseFuture) {
  std::future<GenerationResult> good = engine->async_generate(prompt(), asio::use_future);
  std::future<TokenStream> refused = engine->async_open(prompt(), asio::use_future);
  std::future<void> drained = engine->async_drain(asio::use_future);
  port->say(0, "said");
  port->finish(0);
  port->fail(1, {EngineErrc::kNeverFits, {}});
  poll();
  EXPECT_EQ(good.get().choices.at(0).text, "said");
  drained.get();
  try {
    refused.get();
    ADD_FAILURE() << "did not throw";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), EngineErrc::kNeverFits);
  }
}

TEST_F(AsioCompliance, TakesUseAwaitable) {
  std::string text;
  const auto talk = [&]() -> asio::awaitable<void> {
    Request request = prompt();
    TokenStream stream = co_await engine->async_open(std::move(request), asio::use_awaitable);
    while (auto delta = co_await stream.async_next(asio::use_awaitable)) text += delta->text;
    text += ";" + std::string(to_string(stream.result().reason));
  };
  run(talk(), [&] {
    for (const char* part : {"once", " upon", " a time"}) {
      port->say(0, part);
      poll();
    }
    port->finish(0, {.reason = FinishReason::kLength});
  });
  EXPECT_EQ(text, "once upon a time;length");
}

TEST_F(AsioCompliance, TakesDeferred) {
  auto later = engine->async_generate(prompt(), asio::deferred);
  poll();
  EXPECT_EQ(port->size(), 0U) << "began before it was launched";
  auto length = std::move(later)(asio::deferred([](error_code error, GenerationResult result) {
    return asio::deferred.values(error, result.choices.at(0).text.size());
  }));
  std::size_t bytes = 0;
  std::move(length)([&](error_code, std::size_t size) { bytes = size; });
  port->say(0, "four");
  port->finish(0);
  poll();
  EXPECT_EQ(bytes, 4U);
}

TEST_F(AsioCompliance, TakesAsTuple) {
  error_code seen;
  std::string detail;
  const auto talk = [&]() -> asio::awaitable<void> {
    Request request = prompt();
    auto [error, stream] =
        co_await engine->async_open(std::move(request), asio::as_tuple(asio::use_awaitable));
    seen = error;
    detail = stream.error_detail();
  };
  run(talk(), [&] { port->fail(0, {EngineErrc::kBadRequest, "top_p = 2"}); });
  EXPECT_EQ(seen, EngineErrc::kBadRequest);
  EXPECT_EQ(detail, "top_p = 2");
}

TEST_F(AsioCompliance, TakesRedirectErrorAndDetached) {
  error_code error;
  const auto talk = [&]() -> asio::awaitable<void> {
    Request request = prompt();
    const GenerationResult result = co_await engine->async_generate(
        std::move(request), asio::redirect_error(asio::use_awaitable, error));
    EXPECT_EQ(result.error_detail, "why");
  };
  run(talk(), [&] { port->fail(0, {EngineErrc::kDeviceFailed, "why"}); });
  EXPECT_EQ(error, EngineErrc::kDeviceFailed);
  engine->async_shutdown(asio::detached);
  poll();
}

TEST_F(AsioCompliance, TakesAnyCompletionHandler) {
  GotResult got;
  engine->async_generate(prompt(), asio::any_completion_handler<void(error_code, GenerationResult)>(
                                       asio::bind_executor(asio::make_strand(io), got.handler())));
  port->finish(0);
  EXPECT_EQ(got.calls, 0);
  poll();
  EXPECT_EQ(got.calls, 1);
}

TEST_F(AsioCompliance, LosesARaceAgainstATimer) {
  using namespace asio::experimental::awaitable_operators;
  port->ends_when_asked = true;
  std::size_t winner = 0;
  const auto race = [&]() -> asio::awaitable<void> {
    asio::steady_timer timer(io, std::chrono::steady_clock::time_point::min());
    Request request = prompt();
    const auto first = co_await (engine->async_generate(std::move(request), asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    winner = first.index();
  };
  run(race(), [&] {});
  EXPECT_EQ(winner, 1U);
  EXPECT_EQ(port->request(0).end_cause(), EndCause::kCancel);
}

TEST_F(AsioCompliance, WinsARaceAgainstATimer) {
  using namespace asio::experimental::awaitable_operators;
  std::string text;
  const auto race = [&]() -> asio::awaitable<void> {
    asio::steady_timer timer(io, std::chrono::hours(1));
    Request request = prompt();
    const auto first = co_await (engine->async_generate(std::move(request), asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    text = std::get<0>(first).choices.at(0).text;
  };
  run(race(), [&] {
    port->say(0, "quick");
    port->finish(0);
  });
  EXPECT_EQ(text, "quick");
}

TEST_F(AsioCompliance, IsAStepOfAComposedOperation) {
  // Two requests, one after the other, as one operation.
  const auto async_twice = [&](auto&& token) {
    return asio::async_compose<decltype(token), void(error_code, std::string)>(
        [this, step = 0, text = std::string()](auto& self, error_code error = {},
                                               GenerationResult result = {}) mutable {
          if (step > 0) text += result.choices.at(0).text;
          if (error || step == 2) return self.complete(error, std::move(text));
          ++step;
          engine->async_generate(prompt(), std::move(self));
        },
        token, io);
  };
  AllocationLog log;
  std::string text;
  async_twice(asio::bind_allocator(CountingAllocator<void>(log),
                                   [&](error_code, std::string got) { text = std::move(got); }));
  for (std::size_t i = 0; i < 2; ++i) {
    port->say(i, i == 0 ? "one" : "two");
    port->finish(i);
    poll();
  }
  EXPECT_EQ(text, "onetwo");
  EXPECT_GE(log.total, 4U) << "the handler's allocator did not reach the steps";
  EXPECT_EQ(log.live, 0U);
}

}  // namespace
}  // namespace weft
