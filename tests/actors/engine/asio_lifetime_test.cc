// Threads, exceptions and the ends of things; docs/asio-compliance.md has a row for each test.

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "weft/tests/actors/engine/asio_compliance_fixture.h"
#include "weft/tests/fixture/manual_context.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using asio::error::operation_aborted;
using boost::system::error_code;
using test::AsioCompliance;
using test::FakePort;
using test::GotNext;
using test::GotResult;
using test::GotStream;
using test::prompt;

TEST_F(AsioCompliance, SharesAnEngineBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::atomic<int> calls{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kEach; ++j) {
          engine_->async_generate(prompt(), [&](error_code, const auto&) { calls.fetch_add(1); });
          EXPECT_TRUE(engine_->ready());
          static_cast<void>(engine_->stats());
        }
      });
    }
  }
  for (std::size_t i = 0; i < port_->size(); ++i) port_->finish(i);
  poll();
  EXPECT_EQ(calls.load(), kThreads * kEach);
}

TEST_F(AsioCompliance, CancelsAndStopsAStreamFromOtherThreads) {
  for (int round = 0; round < 100; ++round) {
    TokenStream stream = open();
    const std::size_t request = port_->size() - 1;
    GotNext got;
    stream.async_next(got.handler());
    {
      const std::jthread cancels([&] { stream.cancel(); });
      const std::jthread stops([&] { stream.stop(); });
      const std::jthread delivers([&] { port_->say(request, "x"); });
    }
    poll();
    EXPECT_EQ(got.calls, 1);
    EXPECT_NE(port_->request(request).end_cause(), EndCause::kNone);
  }
}

TEST_F(AsioCompliance, ServesEnginesSideBySide) {
  asio::io_context other;
  auto fake = std::make_unique<FakePort>();
  FakePort* const second_port = fake.get();
  Engine second(other.get_executor(), std::move(fake));
  GotResult first_result;
  GotResult second_result;
  engine_->async_generate(prompt(), first_result.handler());
  second.async_generate(prompt(), second_result.handler());
  port_->finish(0);
  second_port->finish(0);
  poll();
  EXPECT_EQ(first_result.calls, 1);
  EXPECT_EQ(second_result.calls, 0);
  other.run();
  EXPECT_EQ(second_result.calls, 1);
}

TEST_F(AsioCompliance, LetsAHandlersExceptionOutOfItsContext) {
  TokenStream stream = open();
  port_->say(0, "a");
  stream.async_next([](error_code, const auto&) { throw std::runtime_error("the handler's"); });
  io_.restart();
  EXPECT_THROW(io_.poll(), std::runtime_error);
  port_->say(0, "b");
  EXPECT_EQ((*next(stream).value)->text, "b");
}

TEST_F(AsioCompliance, ThrowsFromAnInitiationOnlyForAnEmptyStream) {
  TokenStream empty;
  EXPECT_THROW(empty.async_next([](error_code, const auto&) {}), boost::system::system_error);
  port_->failure = std::make_exception_ptr(std::bad_alloc());
  GotResult got;
  EXPECT_NO_THROW(engine_->async_generate(prompt(), got.handler()));
  poll();
  EXPECT_EQ(got.error, EngineErrc::kInternal);
}

TEST_F(AsioCompliance, DestroysTheHandlerThatItsExecutorRefuses) {
  test::ManualContext full;
  TokenStream stream = open();
  const auto alive = std::make_shared<int>(0);
  stream.async_next(asio::bind_executor(
      full.get_executor(), [kept = alive](error_code, const auto&) { ADD_FAILURE() << "ran"; }));
  EXPECT_EQ(alive.use_count(), 2);
  full.fail_posts(1);
  port_->say(0, "kept");
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(full.run_all(), 0U);
  EXPECT_EQ((*next(stream).value)->text, "kept");
}

TEST_F(AsioCompliance, TakesItsArgumentsByValue) {
  GotResult got;
  {
    Request request = prompt("gone after the call");
    engine_->async_generate(request, got.handler());
    request.prompt = "changed";
  }
  EXPECT_EQ(port_->request(0).request().prompt, "gone after the call");
}

TEST_F(AsioCompliance, EndsItsOperationsWithTheEngine) {
  GotResult result;
  GotNext got;
  TokenStream stream = open();
  engine_->async_generate(prompt(), result.handler());
  stream.async_next(got.handler());
  engine_.reset();
  poll();
  EXPECT_EQ(result.error, EngineErrc::kStopping);
  EXPECT_EQ(got.error, EngineErrc::kStopping);
}

TEST_F(AsioCompliance, EndsItsReadWithTheStream) {
  GotNext got;
  std::optional<TokenStream> stream(open());
  stream->async_next(got.handler());
  stream.reset();
  poll();
  EXPECT_EQ(got.error, operation_aborted);
}

TEST_F(AsioCompliance, DestroysHandlersWithTheirContext) {
  const auto alive = std::make_shared<int>(0);
  TokenStream stream = open();
  {
    asio::io_context handlers;
    stream.async_next(
        asio::bind_executor(handlers.get_executor(), [kept = alive](error_code, const auto&) {}));
    port_->say(0, "a");
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ((*next(stream).value)->text, "a");
}

TEST_F(AsioCompliance, RefusesADeferredOperationAfterTheEngine) {
  auto later = engine_->async_open(prompt(), asio::deferred);
  engine_.reset();
  GotStream got;
  std::move(later)(got.handler());
  poll();
  EXPECT_EQ(got.error, EngineErrc::kStopping);
}

TEST_F(AsioCompliance, NeedsNoRunningContextToBeDestroyed) {
  TokenStream stream = open();
  stream.async_next([](error_code, const auto&) {});
  engine_->async_shutdown([](error_code) {});
  engine_.reset();
}

}  // namespace
}  // namespace weft
