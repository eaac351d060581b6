// The tests behind docs/asio-compliance.md: each of its rows names one, and each is named there.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/file.h"
#include "weft/tests/actors/counting_allocator.h"
#include "weft/tests/actors/engine_fixture.h"
#include "weft/tests/fixture/allocation_count.h"
#include "weft/tests/fixture/manual_context.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using asio::cancellation_type;
using asio::error::operation_aborted;
using boost::system::error_code;
using test::AllocationLog;
using test::CountingAllocator;
using test::FakePort;
using test::GotNext;
using test::GotResult;
using test::GotStream;
using test::prompt;

class AsioCompliance : public test::EngineFixture {
 protected:
  /// Runs a coroutine to its end while `script` drives the port between its steps.
  template <class Script>
  void run(asio::awaitable<void> coroutine, Script script) {
    bool ended = false;
    asio::co_spawn(io, std::move(coroutine), [&](const std::exception_ptr& failure) {
      ended = true;
      if (failure) std::rethrow_exception(failure);
    });
    poll();
    script();
    poll();
    EXPECT_TRUE(ended);
  }
};

// Completion tokens.

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

// Completion.

TEST_F(AsioCompliance, NeverCompletesWithinTheInitiation) {
  port->refusal = Error{EngineErrc::kOverloaded, {}};
  int calls = 0;
  const auto count = [&](error_code, auto&&...) { ++calls; };
  asio::post(io, [&] {  // a thread of the context could run handlers in place
    engine->async_generate(prompt(), count);
    engine->async_open(prompt(), count);
    EXPECT_EQ(calls, 0);
  });
  poll();
  port->refusal.reset();
  TokenStream ready = open();
  port->say(0, "there");
  TokenStream ended = open();
  port->finish(1);
  TokenStream dropped = open();
  dropped.cancel();
  port->end_asked();
  asio::post(io, [&] {
    calls = 0;
    ready.async_next(count);
    ready.async_next(count);  // refused
    ended.async_next(count);
    dropped.async_next(count);
    engine->async_drain(count);
    engine->async_shutdown(count);
    EXPECT_EQ(calls, 0);
  });
  poll();
  port->end_asked();
  poll();
  EXPECT_EQ(calls, 6);
}

TEST_F(AsioCompliance, CompletesExactlyOnce) {
  for (int order = 0; order < 6; ++order) {
    asio::cancellation_signal signal;
    GotNext got;
    TokenStream stream = open();
    const std::size_t request = port->size() - 1;
    stream.async_next(asio::bind_cancellation_slot(signal.slot(), got.handler()));
    const std::array<std::function<void()>, 3> events{
        [&] { signal.emit(cancellation_type::terminal); }, [&] { port->say(request, "x"); },
        [&] { port->finish(request); }};
    events.at(static_cast<std::size_t>(order % 3))();
    events.at(static_cast<std::size_t>((order + 1 + order / 3) % 3))();
    events.at(static_cast<std::size_t>((order + 2 - order / 3) % 3))();
    poll();
    EXPECT_EQ(got.calls, 1) << "order " << order;
  }
}

TEST_F(AsioCompliance, CompletesOnTheAssociatedExecutor) {
  asio::io_context other;
  auto strand = asio::make_strand(asio::any_io_executor(other.get_executor()));
  int calls = 0;
  const auto on_strand = [&] {
    return asio::bind_executor(strand, [&](error_code, auto&&...) {
      EXPECT_TRUE(strand.running_in_this_thread());
      ++calls;
    });
  };
  TokenStream stream = open();
  stream.async_next(on_strand());
  engine->async_generate(prompt(), on_strand());
  engine->async_open(prompt(), on_strand());
  engine->async_drain(on_strand());
  engine->async_shutdown(on_strand());
  port->end_asked();
  poll();
  EXPECT_EQ(calls, 0) << "ran on the engine's executor";
  other.run();
  EXPECT_EQ(calls, 5);
}

TEST_F(AsioCompliance, CompletesOnTheEnginesExecutorWithoutAnother) {
  bool there = false;
  engine->async_generate(prompt(), [&](error_code, const auto&) {
    there = io.get_executor().running_in_this_thread();
  });
  port->finish(0);
  poll();
  EXPECT_TRUE(there);
  static_assert(std::is_same_v<Engine::executor_type, asio::any_io_executor>);
  static_assert(std::is_same_v<TokenStream::executor_type, asio::any_io_executor>);
  EXPECT_EQ(engine->get_executor(), io.get_executor());
}

TEST_F(AsioCompliance, CompletesOnAnExecutorThatCanOnlyDispatch) {
  asio::io_context other;
  bool there = false;
  const asio::any_completion_executor only(other.get_executor());
  TokenStream stream = open();
  port->say(0, "there");
  asio::post(io, [&] {
    stream.async_next(asio::bind_executor(only, [&](error_code, const auto&) {
      there = other.get_executor().running_in_this_thread();
    }));
    EXPECT_FALSE(there);
  });
  poll();
  other.run();
  EXPECT_TRUE(there);
}

TEST_F(AsioCompliance, CountsAsOutstandingWorkOfTheHandlersExecutor) {
  asio::io_context handlers;
  GotResult got;
  engine->async_generate(prompt(), asio::bind_executor(handlers.get_executor(), got.handler()));
  handlers.poll();
  EXPECT_FALSE(handlers.stopped()) << "nothing keeps it running";
  port->finish(0);
  handlers.poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_TRUE(handlers.stopped()) << "the operation is over and still counts";
}

TEST_F(AsioCompliance, IsNoWorkWhileNoOperationIsOutstanding) {
  const TokenStream stream = open();
  poll();
  EXPECT_TRUE(io.stopped());
}

// Allocation.

TEST_F(AsioCompliance, AllocatesWithTheAssociatedAllocator) {
  const std::array<TokenId, 1> token{7};
  TokenStream stream = open();
  AllocationLog log;
  int calls = 0;
  const auto handler = [&] {
    return asio::bind_executor(
        io.get_executor(),
        asio::bind_allocator(CountingAllocator<void>(log), [&](error_code, auto&&...) {
          EXPECT_EQ(log.live, 0U) << "the memory is given back before the handler runs";
          ++calls;
        }));
  };
  const std::uint64_t before = test::allocations_of_this_thread();
  stream.async_next(handler());
  EXPECT_EQ(log.live, 1U);
  port->deliver(0, "a", token);
  EXPECT_EQ(test::allocations_of_this_thread(), before) << "not all by the handler's allocator";
  EXPECT_EQ(log.total, 2U) << "the operation, and its place in the executor's queue";
  poll();
  EXPECT_EQ(calls, 1);
  engine->async_drain(handler());
  EXPECT_EQ(log.live, 1U);
  port->finish(0);
  poll();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(log.live, 0U);
}

TEST_F(AsioCompliance, RecyclesMemoryWithoutAnAssociatedAllocator) {
  TokenStream stream = open();
  const std::array<TokenId, 1> token{7};
  std::uint64_t initiating = 0;
  int reads = 0;
  const std::function<void()> read = [&] {
    const std::uint64_t before = test::allocations_of_this_thread();
    stream.async_next(asio::bind_executor(io.get_executor(), [&](error_code, const auto&) {
      if (++reads < 1000) read();
    }));
    port->deliver(0, "a", token);  // on the context's thread, as an actor on it does
    if (reads > 0) initiating += test::allocations_of_this_thread() - before;
  };
  asio::post(io, read);
  poll();
  EXPECT_EQ(reads, 1000);
  EXPECT_LE(initiating, 10U);  // the stream's own doubling
}

TEST_F(AsioCompliance, DeliversWithoutAllocating) {
  Request request = prompt();
  request.max_tokens = 1000;
  const TokenStream stream = open(std::move(request));
  const std::array<TokenId, 1> token{7};
  const std::uint64_t before = test::allocations_of_this_thread();
  for (int i = 0; i < 1000; ++i) port->deliver(0, "word ", token);
  EXPECT_EQ(test::allocations_of_this_thread(), before);
}

// Cancellation.

TEST_F(AsioCompliance, TakesBackANextByTotalOrPartialCancellation) {
  TokenStream stream = open();
  for (const auto type : {cancellation_type::total, cancellation_type::partial}) {
    asio::cancellation_signal signal;
    GotNext got;
    stream.async_next(asio::bind_cancellation_slot(signal.slot(), got.handler()));
    signal.emit(type);
    poll();
    EXPECT_EQ(got.error, operation_aborted);
  }
  EXPECT_EQ(port->request(0).end_cause(), EndCause::kNone);
  port->say(0, "whole");
  EXPECT_EQ((*next(stream).value)->text, "whole");
}

TEST_F(AsioCompliance, CancelsTheStreamByTerminalCancellationOfANext) {
  TokenStream stream = open();
  asio::cancellation_signal signal;
  GotNext got;
  stream.async_next(asio::bind_cancellation_slot(signal.slot(), got.handler()));
  signal.emit(cancellation_type::terminal);
  poll();
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_EQ(port->request(0).end_cause(), EndCause::kCancel);
}

TEST_F(AsioCompliance, TakesBackANextThatLosesInAParallelGroup) {
  TokenStream stream = open();
  asio::steady_timer timer(io, std::chrono::steady_clock::time_point::min());
  std::size_t winner = 9;
  asio::experimental::make_parallel_group(stream.async_next(asio::deferred),
                                          timer.async_wait(asio::deferred))
      .async_wait(asio::experimental::wait_for_one(),
                  [&](std::array<std::size_t, 2> order, error_code, const auto&, error_code) {
                    winner = order.front();
                  });
  poll();
  EXPECT_EQ(winner, 1U);
  EXPECT_EQ(port->request(0).end_cause(), EndCause::kNone);
  port->say(0, "whole");
  EXPECT_EQ((*next(stream).value)->text, "whole");
}

TEST_F(AsioCompliance, CancelsTheStreamOfANextThatLosesInACoroutine) {
  using namespace asio::experimental::awaitable_operators;
  TokenStream stream = open();
  const auto race = [&]() -> asio::awaitable<void> {
    asio::steady_timer timer(io, std::chrono::steady_clock::time_point::min());
    co_await (stream.async_next(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
  };
  run(race(), [&] {});
  EXPECT_EQ(port->request(0).end_cause(), EndCause::kCancel);
}

TEST_F(AsioCompliance, CancelsTheRequestOfAGenerateOrOpenByAnyCancellation) {
  for (const auto type :
       {cancellation_type::total, cancellation_type::partial, cancellation_type::terminal}) {
    asio::cancellation_signal generating;
    asio::cancellation_signal opening;
    GotResult result;
    GotStream stream;
    engine->async_generate(prompt(),
                           asio::bind_cancellation_slot(generating.slot(), result.handler()));
    engine->async_open(prompt(), asio::bind_cancellation_slot(opening.slot(), stream.handler()));
    generating.emit(type);
    opening.emit(type);
    poll();
    EXPECT_EQ(result.calls + stream.calls, 0) << "completed before the requests have ended";
    EXPECT_EQ(port->end_asked(), 2U);
    poll();
    EXPECT_EQ(result.error, operation_aborted);
    EXPECT_EQ(stream.error, operation_aborted);
  }
}

TEST_F(AsioCompliance, TakesBackADrainOrShutdownByAnyCancellation) {
  const TokenStream stream = open();
  for (const auto type :
       {cancellation_type::total, cancellation_type::partial, cancellation_type::terminal}) {
    asio::cancellation_signal signal;
    error_code drained;
    error_code shut_down;
    engine->async_drain(
        asio::bind_cancellation_slot(signal.slot(), [&](error_code error) { drained = error; }));
    signal.emit(type);
    engine->async_shutdown(
        asio::bind_cancellation_slot(signal.slot(), [&](error_code error) { shut_down = error; }));
    signal.emit(type);
    poll();
    EXPECT_EQ(drained, operation_aborted);
    EXPECT_EQ(shut_down, operation_aborted);
  }
  GotResult refused;
  engine->async_generate(prompt(), refused.handler());
  poll();
  EXPECT_EQ(refused.error, EngineErrc::kStopping) << "the engine goes on draining";
}

TEST_F(AsioCompliance, IgnoresCancellationThatComesTooLate) {
  TokenStream stream = open();
  asio::cancellation_signal signal;
  GotNext first;
  stream.async_next(asio::bind_cancellation_slot(signal.slot(), first.handler()));
  port->say(0, "a");
  signal.emit(cancellation_type::all);  // completed, and its handler has not run
  poll();
  EXPECT_FALSE(first.error);
  GotNext second;
  stream.async_next(second.handler());
  signal.emit(cancellation_type::all);  // another operation's
  poll();
  EXPECT_EQ(second.calls, 0);
  port->say(0, "b");
  poll();
  EXPECT_EQ((*second.value)->text, "b");
}

// Threads.

TEST_F(AsioCompliance, SharesAnEngineBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::atomic<int> calls{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kEach; ++j) {
          engine->async_generate(prompt(), [&](error_code, const auto&) { calls.fetch_add(1); });
          EXPECT_TRUE(engine->ready());
          static_cast<void>(engine->stats());
        }
      });
    }
  }
  for (std::size_t i = 0; i < port->size(); ++i) port->finish(i);
  poll();
  EXPECT_EQ(calls.load(), kThreads * kEach);
}

TEST_F(AsioCompliance, CancelsAndStopsAStreamFromOtherThreads) {
  for (int round = 0; round < 100; ++round) {
    TokenStream stream = open();
    const std::size_t request = port->size() - 1;
    GotNext got;
    stream.async_next(got.handler());
    {
      const std::jthread cancels([&] { stream.cancel(); });
      const std::jthread stops([&] { stream.stop(); });
      const std::jthread delivers([&] { port->say(request, "x"); });
    }
    poll();
    EXPECT_EQ(got.calls, 1);
    EXPECT_NE(port->request(request).end_cause(), EndCause::kNone);
  }
}

TEST_F(AsioCompliance, ServesEnginesSideBySide) {
  asio::io_context other;
  auto fake = std::make_unique<FakePort>();
  FakePort* const second_port = fake.get();
  Engine second(other.get_executor(), std::move(fake));
  GotResult first_result;
  GotResult second_result;
  engine->async_generate(prompt(), first_result.handler());
  second.async_generate(prompt(), second_result.handler());
  port->finish(0);
  second_port->finish(0);
  poll();
  EXPECT_EQ(first_result.calls, 1);
  EXPECT_EQ(second_result.calls, 0);
  other.run();
  EXPECT_EQ(second_result.calls, 1);
}

// Exceptions.

TEST_F(AsioCompliance, LetsAHandlersExceptionOutOfItsContext) {
  TokenStream stream = open();
  port->say(0, "a");
  stream.async_next([](error_code, const auto&) { throw std::runtime_error("the handler's"); });
  io.restart();
  EXPECT_THROW(io.poll(), std::runtime_error);
  port->say(0, "b");
  EXPECT_EQ((*next(stream).value)->text, "b");
}

TEST_F(AsioCompliance, ThrowsFromAnInitiationOnlyForAnEmptyStream) {
  TokenStream empty;
  EXPECT_THROW(empty.async_next([](error_code, const auto&) {}), boost::system::system_error);
  port->failure = std::make_exception_ptr(std::bad_alloc());
  GotResult got;
  EXPECT_NO_THROW(engine->async_generate(prompt(), got.handler()));
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
  port->say(0, "kept");
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(full.run_all(), 0U);
  EXPECT_EQ((*next(stream).value)->text, "kept");
}

// Lifetime.

TEST_F(AsioCompliance, TakesItsArgumentsByValue) {
  GotResult got;
  {
    Request request = prompt("gone after the call");
    engine->async_generate(request, got.handler());
    request.prompt = "changed";
  }
  EXPECT_EQ(port->request(0).request().prompt, "gone after the call");
}

TEST_F(AsioCompliance, EndsItsOperationsWithTheEngine) {
  GotResult result;
  GotNext got;
  TokenStream stream = open();
  engine->async_generate(prompt(), result.handler());
  stream.async_next(got.handler());
  engine.reset();
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
    port->say(0, "a");
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ((*next(stream).value)->text, "a");
}

TEST_F(AsioCompliance, RefusesADeferredOperationAfterTheEngine) {
  auto later = engine->async_open(prompt(), asio::deferred);
  engine.reset();
  GotStream got;
  std::move(later)(got.handler());
  poll();
  EXPECT_EQ(got.error, EngineErrc::kStopping);
}

TEST_F(AsioCompliance, NeedsNoRunningContextToBeDestroyed) {
  TokenStream stream = open();
  stream.async_next([](error_code, const auto&) {});
  engine->async_shutdown([](error_code) {});
  engine.reset();
}

// The page.

/// The names after "AsioCompliance." in the rows of docs/asio-compliance.md's tables; "" for a row
/// that has none.
std::multiset<std::string> documented_tests() {
  std::multiset<std::string> names;
  const std::string page =
      read_text_file(WEFT_SOURCE_DIR "/docs/asio-compliance.md", std::size_t{1} << 20).value();
  constexpr std::string_view kSuite = "`AsioCompliance.";
  bool in_tests = false;  // a table whose last column is "test"
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string_view line = std::string_view(page).substr(at, end - at);
    at = end + 1;
    if (line.ends_with(" test |")) in_tests = true;
    if (!line.starts_with("| ")) in_tests = false;
    if (!in_tests || line.ends_with(" test |") || line.starts_with("| --- ")) continue;
    const std::size_t begin = line.find(kSuite);
    if (begin == std::string_view::npos) {
      names.insert("");
      continue;
    }
    const std::string_view rest = line.substr(begin + kSuite.size());
    names.emplace(rest.substr(0, rest.find('`')));
  }
  return names;
}

TEST(AsioCompliancePage, NamesEachTestOnceAndNoOther) {
  std::multiset<std::string> tests;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    if (std::string_view(suite.name()) != "AsioCompliance") continue;
    for (int j = 0; j < suite.total_test_count(); ++j) tests.emplace(suite.GetTestInfo(j)->name());
  }
  EXPECT_FALSE(tests.empty());
  EXPECT_EQ(documented_tests(), tests);
}

}  // namespace
}  // namespace weft
