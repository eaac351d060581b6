// Which completion tokens operations take; docs/asio-compliance.md has a row for each test.

#include <gtest/gtest.h>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "weft/tests/actors/engine/asio_compliance_fixture.h"
#include "weft/tests/actors/engine/counting_allocator.h"

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
  engine_->async_generate(prompt(), [&](error_code error, const GenerationResult& result) {
    EXPECT_FALSE(error);
    text = result.choices.at(0).text;
  });
  port_->say(0, "said");
  port_->finish(0);
  poll();
  EXPECT_EQ(text, "said");
}

TEST_F(AsioCompliance, TakesACallbackThatIsAnLvalue) {
  int calls = 0;
  const auto callback = [&](error_code, const GenerationResult&) { ++calls; };
  engine_->async_generate(prompt(), callback);
  engine_->async_generate(prompt(), callback);
  port_->finish(0);
  port_->finish(1);
  poll();
  EXPECT_EQ(calls, 2);
}

class MoveOnlyHandler {
 public:
  MoveOnlyHandler(int& sum, int value) : sum_(&sum), value_(std::make_unique<int>(value)) {}
  template <class... Results>
  void operator()(error_code /*error*/, Results&&... /*results*/) {
    *sum_ += *value_;
  }

 private:
  int* sum_;
  std::unique_ptr<int> value_;
};

TEST_F(AsioCompliance, TakesAMoveOnlyHandler) {
  int sum = 0;
  const auto holding = [&](int value) { return MoveOnlyHandler(sum, value); };
  TokenStream stream = open();
  stream.async_next(holding(1));
  engine_->async_generate(prompt(), holding(2));
  engine_->async_open(prompt(), holding(4));
  engine_->async_drain(holding(8));
  engine_->async_shutdown(holding(16));
  port_->end_asked();
  poll();
  EXPECT_EQ(sum, 31);
}

TEST_F(AsioCompliance, TakesUseFuture) {
  std::future<GenerationResult> good = engine_->async_generate(prompt(), asio::use_future);
  std::future<TokenStream> refused = engine_->async_open(prompt(), asio::use_future);
  std::future<void> drained = engine_->async_drain(asio::use_future);
  port_->say(0, "said");
  port_->finish(0);
  port_->fail(1, {EngineErrc::kNeverFits, {}});
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

TEST_F(AsioCompliance, TakesUseFutureOfAFunctionWhichLosesNothingOfARefusal) {
  const auto both = [](error_code error, GenerationResult result) {
    return std::pair(error, std::move(result));
  };
  auto refused = engine_->async_generate(prompt(), asio::use_future(both));
  port_->fail(0, {EngineErrc::kNeverFits, "5 pages of 4"});
  poll();
  const auto [error, result] = refused.get();
  EXPECT_EQ(error, EngineErrc::kNeverFits);
  EXPECT_EQ(result.error_detail, "5 pages of 4");
}

TEST_F(AsioCompliance, ATypeErasedExecutorNeedsNoOtherContext) {
  asio::io_context own;
  bool is_done = false;
  engine_->async_generate(
      prompt(), asio::bind_executor(asio::any_io_executor(own.get_executor()),
                                    [&](error_code, const GenerationResult&) { is_done = true; }));
  port_->finish(0);
  own.poll();  // the engine's context does not run
  EXPECT_TRUE(is_done);
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_F(AsioCompliance, UseFutureStartsNoThreads) {
  const std::ptrdiff_t before = threads_of_this_process();
  std::future<GenerationResult> result = engine_->async_generate(prompt(), asio::use_future);
  port_->finish(0);
  poll();
  result.get();
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST_F(AsioCompliance, TakesUseAwaitable) {
  std::string text;
  const auto talk = [](Engine* engine, std::string* out) -> asio::awaitable<void> {
    Request request = prompt();
    TokenStream stream = co_await engine->async_open(std::move(request), asio::use_awaitable);
    while (auto delta = co_await stream.async_next(asio::use_awaitable)) *out += delta->text;
    *out += ";" + std::string(to_string(stream.result().reason));
  };
  run(talk(&*engine_, &text), [&] {
    for (const char* part : {"once", " upon", " a time"}) {
      port_->say(0, part);
      poll();
    }
    port_->finish(0, {.reason = FinishReason::kLength});
  });
  EXPECT_EQ(text, "once upon a time;length");
}

TEST_F(AsioCompliance, TakesDeferred) {
  auto later = engine_->async_generate(prompt(), asio::deferred);
  poll();
  EXPECT_EQ(port_->size(), 0U) << "began before it was launched";
  auto length = std::move(later)(asio::deferred([](error_code error, GenerationResult result) {
    return asio::deferred.values(error, result.choices.at(0).text.size());
  }));
  std::size_t bytes = 0;
  std::move(length)([&](error_code, std::size_t size) { bytes = size; });
  port_->say(0, "four");
  port_->finish(0);
  poll();
  EXPECT_EQ(bytes, 4U);
}

TEST_F(AsioCompliance, TakesAsTuple) {
  const auto talk = [](Engine* engine) -> asio::awaitable<void> {
    Request request = prompt();
    const auto [error, stream] =
        co_await engine->async_open(std::move(request), asio::as_tuple(asio::use_awaitable));
    EXPECT_EQ(error, EngineErrc::kBadRequest);
    EXPECT_EQ(stream.error_detail(), "top_p = 2");
  };
  run(talk(&*engine_), [&] { port_->fail(0, {EngineErrc::kBadRequest, "top_p = 2"}); });
}

TEST_F(AsioCompliance, TakesRedirectErrorAndDetached) {
  const auto talk = [](Engine* engine) -> asio::awaitable<void> {
    error_code error;
    Request request = prompt();
    const GenerationResult result = co_await engine->async_generate(
        std::move(request), asio::redirect_error(asio::use_awaitable, error));
    EXPECT_EQ(error, EngineErrc::kDeviceFailed);
    EXPECT_EQ(result.error_detail, "why");
  };
  run(talk(&*engine_), [&] { port_->fail(0, {EngineErrc::kDeviceFailed, "why"}); });
  engine_->async_shutdown(asio::detached);
  poll();
}

TEST_F(AsioCompliance, TakesAnyCompletionHandler) {
  GotResult got;
  engine_->async_generate(prompt(),
                          asio::any_completion_handler<void(error_code, GenerationResult)>(
                              asio::bind_executor(asio::make_strand(io_), got.handler())));
  port_->finish(0);
  EXPECT_EQ(got.calls, 0);
  poll();
  EXPECT_EQ(got.calls, 1);
}

TEST_F(AsioCompliance, LosesARaceAgainstATimer) {
  using namespace asio::experimental::awaitable_operators;
  port_->ends_when_asked = true;
  const auto race = [](Engine* engine) -> asio::awaitable<void> {
    asio::steady_timer timer(engine->get_executor(), std::chrono::steady_clock::time_point::min());
    Request request = prompt();
    const auto first = co_await (engine->async_generate(std::move(request), asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    EXPECT_EQ(first.index(), 1U);
  };
  run(race(&*engine_), [] {});
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
}

TEST_F(AsioCompliance, WinsARaceAgainstATimer) {
  using namespace asio::experimental::awaitable_operators;
  const auto race = [](Engine* engine) -> asio::awaitable<void> {
    asio::steady_timer timer(engine->get_executor(), std::chrono::hours(1));
    Request request = prompt();
    const auto first = co_await (engine->async_generate(std::move(request), asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    EXPECT_EQ(std::get<0>(first).choices.at(0).text, "quick");
  };
  run(race(&*engine_), [&] {
    port_->say(0, "quick");
    port_->finish(0);
  });
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
          engine_->async_generate(prompt(), std::move(self));
        },
        token, io_);
  };
  AllocationLog log;
  std::string text;
  async_twice(asio::bind_allocator(CountingAllocator<void>(log),
                                   [&](error_code, std::string got) { text = std::move(got); }));
  for (std::size_t i = 0; i < 2; ++i) {
    port_->say(i, i == 0 ? "one" : "two");
    port_->finish(i);
    poll();
  }
  EXPECT_EQ(text, "onetwo");
  EXPECT_GE(log.total, 4U) << "the handler's allocator did not reach the steps";
  EXPECT_EQ(log.live, 0U);
}

}  // namespace
}  // namespace weft
