// The effects of cancellation; docs/asio-compliance.md has a row for each test.

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>

#include "weft/tests/actors/engine/asio_compliance_fixture.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using asio::cancellation_type;
using asio::error::operation_aborted;
using boost::system::error_code;
using test::AsioCompliance;
using test::GotNext;
using test::GotResult;
using test::GotStream;
using test::prompt;

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
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kNone);
  port_->say(0, "whole");
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
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
}

TEST_F(AsioCompliance, TakesBackANextThatLosesInAParallelGroup) {
  TokenStream stream = open();
  asio::steady_timer timer(io_, std::chrono::steady_clock::time_point::min());
  std::size_t winner = 9;
  asio::experimental::make_parallel_group(stream.async_next(asio::deferred),
                                          timer.async_wait(asio::deferred))
      .async_wait(asio::experimental::wait_for_one(),
                  [&](std::array<std::size_t, 2> order, error_code, const auto&, error_code) {
                    winner = order.front();
                  });
  poll();
  EXPECT_EQ(winner, 1U);
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kNone);
  port_->say(0, "whole");
  EXPECT_EQ((*next(stream).value)->text, "whole");
}

TEST_F(AsioCompliance, CancelsTheStreamOfANextThatLosesInACoroutine) {
  using namespace asio::experimental::awaitable_operators;
  TokenStream stream = open();
  const auto race = [](TokenStream* reading) -> asio::awaitable<void> {
    asio::steady_timer timer(reading->get_executor(), std::chrono::steady_clock::time_point::min());
    co_await (reading->async_next(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
  };
  run(race(&stream), [] {});
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
}

TEST_F(AsioCompliance, CancelsTheRequestOfAGenerateOrOpenByAnyCancellation) {
  for (const auto type :
       {cancellation_type::total, cancellation_type::partial, cancellation_type::terminal}) {
    asio::cancellation_signal generating;
    asio::cancellation_signal opening;
    GotResult result;
    GotStream stream;
    engine_->async_generate(prompt(),
                            asio::bind_cancellation_slot(generating.slot(), result.handler()));
    engine_->async_open(prompt(), asio::bind_cancellation_slot(opening.slot(), stream.handler()));
    generating.emit(type);
    opening.emit(type);
    poll();
    EXPECT_EQ(result.calls + stream.calls, 0) << "completed before the requests have ended";
    EXPECT_EQ(port_->end_asked(), 2U);
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
    engine_->async_drain(
        asio::bind_cancellation_slot(signal.slot(), [&](error_code error) { drained = error; }));
    signal.emit(type);
    engine_->async_shutdown(
        asio::bind_cancellation_slot(signal.slot(), [&](error_code error) { shut_down = error; }));
    signal.emit(type);
    poll();
    EXPECT_EQ(drained, operation_aborted);
    EXPECT_EQ(shut_down, operation_aborted);
  }
  GotResult refused;
  engine_->async_generate(prompt(), refused.handler());
  poll();
  EXPECT_EQ(refused.error, EngineErrc::kStopping) << "the engine goes on draining";
}

TEST_F(AsioCompliance, IgnoresCancellationThatComesTooLate) {
  TokenStream stream = open();
  asio::cancellation_signal signal;
  GotNext first;
  stream.async_next(asio::bind_cancellation_slot(signal.slot(), first.handler()));
  port_->say(0, "a");
  signal.emit(cancellation_type::all);  // completed, and its handler has not run
  poll();
  EXPECT_FALSE(first.error);
  GotNext second;
  stream.async_next(second.handler());
  signal.emit(cancellation_type::all);  // another operation's
  poll();
  EXPECT_EQ(second.calls, 0);
  port_->say(0, "b");
  poll();
  EXPECT_EQ((*second.value)->text, "b");
}

}  // namespace
}  // namespace weft
