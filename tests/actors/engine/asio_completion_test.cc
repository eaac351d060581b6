// When, where and with whose memory operations complete; docs/asio-compliance.md has a row for each
// test.

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "weft/tests/actors/engine/asio_compliance_fixture.h"
#include "weft/tests/actors/engine/counting_allocator.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using asio::cancellation_type;
using boost::system::error_code;
using test::AllocationLog;
using test::AsioCompliance;
using test::CountingAllocator;
using test::GotNext;
using test::GotResult;
using test::prompt;

TEST_F(AsioCompliance, NeverCompletesWithinTheInitiation) {
  port_->refusal = Error{EngineErrc::kOverloaded, {}};
  int calls = 0;
  const auto count = [&](error_code, auto&&...) { ++calls; };
  asio::post(io_, [&] {  // a thread of the context could run handlers in place
    engine_->async_generate(prompt(), count);
    engine_->async_open(prompt(), count);
    EXPECT_EQ(calls, 0);
  });
  poll();
  port_->refusal.reset();
  TokenStream ready = open();
  port_->say(0, "there");
  TokenStream ended = open();
  port_->finish(1);
  TokenStream dropped = open();
  dropped.cancel();
  port_->end_asked();
  asio::post(io_, [&] {
    calls = 0;
    ready.async_next(count);
    ready.async_next(count);  // refused
    ended.async_next(count);
    dropped.async_next(count);
    engine_->async_drain(count);
    engine_->async_shutdown(count);
    EXPECT_EQ(calls, 0);
  });
  poll();
  port_->end_asked();
  poll();
  EXPECT_EQ(calls, 6);
}

TEST_F(AsioCompliance, CompletesExactlyOnce) {
  for (int order = 0; order < 6; ++order) {
    asio::cancellation_signal signal;
    GotNext got;
    TokenStream stream = open();
    const std::size_t request = port_->size() - 1;
    stream.async_next(asio::bind_cancellation_slot(signal.slot(), got.handler()));
    const std::array<std::function<void()>, 3> events{
        [&] { signal.emit(cancellation_type::terminal); }, [&] { port_->say(request, "x"); },
        [&] { port_->finish(request); }};
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
  engine_->async_generate(prompt(), on_strand());
  engine_->async_open(prompt(), on_strand());
  engine_->async_drain(on_strand());
  engine_->async_shutdown(on_strand());
  port_->end_asked();
  poll();
  EXPECT_EQ(calls, 0) << "ran on the engine's executor";
  other.run();
  EXPECT_EQ(calls, 5);
}

TEST_F(AsioCompliance, CompletesOnTheEnginesExecutorWithoutAnother) {
  bool there = false;
  engine_->async_generate(prompt(), [&](error_code, const auto&) {
    there = io_.get_executor().running_in_this_thread();
  });
  port_->finish(0);
  poll();
  EXPECT_TRUE(there);
  static_assert(std::is_same_v<Engine::executor_type, asio::any_io_executor>);
  static_assert(std::is_same_v<TokenStream::executor_type, asio::any_io_executor>);
  EXPECT_EQ(engine_->get_executor(), io_.get_executor());
}

TEST_F(AsioCompliance, CompletesOnAnExecutorThatCanOnlyDispatch) {
  asio::io_context other;
  bool there = false;
  const asio::any_completion_executor only(other.get_executor());
  TokenStream stream = open();
  port_->say(0, "there");
  asio::post(io_, [&] {
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
  engine_->async_generate(prompt(), asio::bind_executor(handlers.get_executor(), got.handler()));
  handlers.poll();
  EXPECT_FALSE(handlers.stopped()) << "nothing keeps it running";
  port_->finish(0);
  handlers.poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_TRUE(handlers.stopped()) << "the operation is over and still counts";
}

TEST_F(AsioCompliance, IsNoWorkWhileNoOperationIsOutstanding) {
  const TokenStream stream = open();
  poll();
  EXPECT_TRUE(io_.stopped());
}

TEST_F(AsioCompliance, AllocatesWithTheAssociatedAllocator) {
  const std::array<TokenId, 1> token{7};
  TokenStream stream = open();
  AllocationLog log;
  int calls = 0;
  const auto handler = [&] {
    return asio::bind_executor(
        io_.get_executor(),
        asio::bind_allocator(CountingAllocator<void>(log), [&](error_code, auto&&...) {
          EXPECT_EQ(log.live, 0U) << "the memory is given back before the handler runs";
          ++calls;
        }));
  };
  const std::uint64_t before = test::allocations_of_this_thread();
  stream.async_next(handler());
  EXPECT_EQ(log.live, 1U);
  port_->deliver(0, "a", token);
  EXPECT_EQ(test::allocations_of_this_thread(), before) << "not all by the handler's allocator";
  EXPECT_EQ(log.total, 2U) << "the operation, and its place in the executor's queue";
  poll();
  EXPECT_EQ(calls, 1);
  engine_->async_drain(handler());
  EXPECT_EQ(log.live, 1U);
  port_->finish(0);
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
    stream.async_next(asio::bind_executor(io_.get_executor(), [&](error_code, const auto&) {
      if (++reads < 1000) read();
    }));
    port_->deliver(0, "a", token);  // on the context's thread, as an actor on it does
    if (reads > 0) initiating += test::allocations_of_this_thread() - before;
  };
  asio::post(io_, read);
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
  for (int i = 0; i < 1000; ++i) port_->deliver(0, "word ", token);
  EXPECT_EQ(test::allocations_of_this_thread(), before);
}

}  // namespace
}  // namespace weft
