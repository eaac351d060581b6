#include "weft/actors/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/request/stream_defaults.h"
#include "weft/tests/actors/engine/engine_fixture.h"

namespace weft {
namespace {

using boost::asio::bind_cancellation_slot;
using boost::asio::cancellation_type;
using boost::asio::error::operation_aborted;
using boost::system::error_code;
using test::FakePort;
using test::Got;
using test::GotResult;
using test::GotStream;
using test::prompt;

/// Records what a handler of drain and shutdown was called with.
struct GotDone {
  int calls = 0;
  error_code error;
  auto handler() {
    return [this](error_code code) {
      ++calls;
      error = code;
    };
  }
};

class EngineTest : public test::EngineFixture {
 protected:
  explicit EngineTest(std::shared_ptr<FakePort::Traces> seen = std::make_shared<FakePort::Traces>())
      : EngineFixture(std::make_unique<FakePort>(seen)), traces_(std::move(seen)) {}

  std::shared_ptr<FakePort::Traces> traces_;
};

TEST_F(EngineTest, GivesTheWholeResultOfARequest) {
  GotResult got;
  engine_->async_generate(prompt("Hello"), got.handler());
  EXPECT_EQ(port_->request(0).request().prompt, "Hello");
  port_->admit(0);
  port_->say(0, "a ");
  port_->say(0, "tale");
  poll();
  EXPECT_EQ(got.calls, 0);
  port_->finish(0, {.reason = FinishReason::kLength, .usage = {.prompt_tokens = 1}});
  EXPECT_EQ(got.calls, 0) << "completed on the thread that finishes";
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.value->choices.at(0).text, "a tale");
  EXPECT_EQ(got.value->reason, FinishReason::kLength);
  EXPECT_EQ(got.value->usage.prompt_tokens, 1);
}

TEST_F(EngineTest, GivesTheVectorOfAnInput) {
  Got<EmbedResult> got;
  EmbedRequest asked("Hello");
  asked.wish.dimensions = 2;
  engine_->async_embed(std::move(asked), got.handler());
  const Request& request = port_->request(0).request();
  EXPECT_EQ(request.prompt, "Hello");
  ASSERT_TRUE(request.vector);
  EXPECT_EQ(request.vector->dimensions, 2);
  port_->finish(0, {.vector = {0.5F, 1}, .usage = {.prompt_tokens = 1}});
  EXPECT_EQ(got.calls, 0) << "completed on the thread that finishes";
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.value->vector, (std::vector<float>{0.5F, 1}));
  EXPECT_EQ(got.value->usage.prompt_tokens, 1);
}

TEST_F(EngineTest, GivesWhatWasProducedWithTheErrorOfARequestThatFailed) {
  GotResult got;
  engine_->async_generate(prompt(), got.handler());
  port_->say(0, "half");
  port_->fail(0, {EngineErrc::kNotNumbers, "after token 4"});
  poll();
  EXPECT_EQ(got.error, EngineErrc::kNotNumbers);
  EXPECT_EQ(got.value->error_detail, "after token 4");
  EXPECT_EQ(got.value->choices.at(0).text, "half");
}

TEST_F(EngineTest, TellsOfARefusalThroughTheOperation) {
  port_->refusal = Error{EngineErrc::kOverloaded, "1024 requests, 1024 allowed"};
  port_->retry_after = std::chrono::milliseconds(1500);
  GotResult result;
  GotStream stream;
  engine_->async_generate(prompt(), result.handler());
  engine_->async_open(prompt(), stream.handler());
  EXPECT_EQ(result.calls + stream.calls, 0) << "completed within the call";
  poll();
  EXPECT_EQ(result.error, EngineErrc::kOverloaded);
  EXPECT_EQ(result.value->error_detail, "1024 requests, 1024 allowed");
  EXPECT_EQ(result.value->retry_after, std::chrono::milliseconds(1500));
  EXPECT_EQ(stream.error, EngineErrc::kOverloaded);
  EXPECT_EQ(stream.value->error_detail(), "1024 requests, 1024 allowed");
  EXPECT_EQ(stream.value->retry_after(), std::chrono::milliseconds(1500));
}

TEST_F(EngineTest, AHandleKnowsTheNumberOfItsRequest) {
  class NoSink final : public RequestSink {
    void deliver(const DeltaView& /*delta*/) noexcept override {}
    void finish(Finish&& /*finish*/) noexcept override {}
  };
  const RequestHandle handle = engine_->submit(prompt(), std::make_shared<NoSink>());
  EXPECT_EQ(handle.id(), port_->request(0).id());
  Request refused = prompt();
  refused.sampling.n = 0;
  EXPECT_FALSE(engine_->submit(std::move(refused), std::make_shared<NoSink>()).id());
  EXPECT_FALSE(RequestHandle().id());
  EXPECT_TRUE(engine_->rows().empty()) << "this port tells nothing of rows";
}

TEST_F(EngineTest, OpensAStreamWhenTheRequestIsAdmitted) {
  GotStream got;
  engine_->async_open(prompt(), got.handler());
  poll();
  EXPECT_EQ(got.calls, 0);
  port_->admit(0);
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_FALSE(got.error);
}

TEST_F(EngineTest, OpensAStreamWithTheFirstDeltaAtTheLatest) {
  GotStream got;
  engine_->async_open(prompt(), got.handler());
  port_->say(0, "early");
  poll();
  ASSERT_EQ(got.calls, 1);
  EXPECT_EQ((*next(*got.value).value)->text, "early");
}

TEST_F(EngineTest, OpensAStreamThatFailedAfterItsFirstDelta) {
  GotStream got;
  engine_->async_open(prompt(), got.handler());
  port_->say(0, "half");
  port_->fail(0, {EngineErrc::kDeviceFailed, {}});
  poll();
  ASSERT_FALSE(got.error);
  EXPECT_EQ((*next(*got.value).value)->text, "half");
  EXPECT_EQ(next(*got.value).error, EngineErrc::kDeviceFailed);
}

TEST_F(EngineTest, OpensAStreamOfARequestThatEndedWithoutAWord) {
  GotStream got;
  engine_->async_open(prompt(), got.handler());
  port_->finish(0);
  poll();
  ASSERT_FALSE(got.error);
  EXPECT_FALSE(next(*got.value).value->has_value());
}

class Cancelled : public EngineTest, public testing::WithParamInterface<cancellation_type> {};

TEST_P(Cancelled, EndsAGenerationAndCompletesWhenItHasEnded) {
  boost::asio::cancellation_signal signal;
  GotResult got;
  engine_->async_generate(prompt(), bind_cancellation_slot(signal.slot(), got.handler()));
  port_->say(0, "half");
  signal.emit(GetParam());
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
  poll();
  EXPECT_EQ(got.calls, 0) << "the request has not ended yet";
  port_->end_asked();
  poll();
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_EQ(got.value->choices.at(0).text, "half");
}

TEST_P(Cancelled, EndsAnEmbeddingAndCompletesWhenItHasEnded) {
  boost::asio::cancellation_signal signal;
  Got<EmbedResult> got;
  engine_->async_embed("Once", bind_cancellation_slot(signal.slot(), got.handler()));
  signal.emit(GetParam());
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
  poll();
  EXPECT_EQ(got.calls, 0) << "the request has not ended yet";
  port_->end_asked();
  poll();
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_TRUE(got.value->vector.empty());
}

TEST_P(Cancelled, EndsAnOpeningAndCompletesWhenItHasEnded) {
  boost::asio::cancellation_signal signal;
  GotStream got;
  engine_->async_open(prompt(), bind_cancellation_slot(signal.slot(), got.handler()));
  signal.emit(GetParam());
  port_->admit(0);
  poll();
  EXPECT_EQ(got.calls, 0) << "admitted after it was cancelled";
  port_->end_asked();
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_EQ(got.error, operation_aborted);
}

INSTANTIATE_TEST_SUITE_P(EngineTest, Cancelled,
                         testing::Values(cancellation_type::total, cancellation_type::partial,
                                         cancellation_type::terminal, cancellation_type::all));

TEST_F(EngineTest, SaysCancelledWhenSomebodyElseCancelled) {
  GotResult got;
  engine_->async_generate(prompt(), got.handler());
  port_->request(0).ask_to_end(EndCause::kCancel);
  port_->end_asked();
  poll();
  EXPECT_EQ(got.error, EngineErrc::kCancelled);
}

TEST_F(EngineTest, GivesTheResultWhenTheEndCameBeforeTheCancellation) {
  boost::asio::cancellation_signal signal;
  GotResult got;
  engine_->async_generate(prompt(), bind_cancellation_slot(signal.slot(), got.handler()));
  signal.emit(cancellation_type::total);
  port_->finish(0, {.reason = FinishReason::kStop});
  poll();
  EXPECT_FALSE(got.error);
}

TEST_F(EngineTest, RefusesMoreOutputsAndTokensThanAStreamHolds) {
  const auto refused = [&](const Request& request, const std::string& detail) {
    GotResult got;
    engine_->async_generate(request, got.handler());
    poll();
    EXPECT_EQ(got.error, EngineErrc::kBadRequest);
    EXPECT_EQ(got.value->error_detail, detail);
  };
  Request request = prompt();
  for (const std::int32_t n : {0, -1, kMaxChoices + 1}) {
    request.sampling.n = n;
    refused(request, "n = " + std::to_string(n) + " is not in 1 .. 128");
  }
  request.sampling.n = kMaxChoices;
  request.max_tokens = kMaxStreamTokens + 1;
  refused(request, "max_tokens = 134217728 is more than 134217727");
  EXPECT_EQ(port_->size(), 0U);
}

TEST_F(EngineTest, TurnsAPortThatThrowsIntoAnError) {
  const auto got_with = [&](std::exception_ptr failure) {
    port_->failure = std::move(failure);
    GotStream got;
    engine_->async_open(prompt(), got.handler());
    EXPECT_EQ(got.calls, 0);
    poll();
    EXPECT_EQ(got.error, EngineErrc::kInternal);
    return std::string(got.value->error_detail());
  };
  EXPECT_EQ(got_with(std::make_exception_ptr(std::bad_alloc())), "std::bad_alloc");
  EXPECT_EQ(got_with(std::make_exception_ptr(std::runtime_error("no pages"))), "no pages");
  GotDone drained;
  engine_->async_drain(drained.handler());
  poll();
  EXPECT_EQ(drained.calls, 1) << "a request that never began is still counted";
}

TEST_F(EngineTest, DrainsWhenTheLastRequestHasEnded) {
  TokenStream first = open();
  TokenStream second = open();
  GotDone drained;
  engine_->async_drain(drained.handler());
  port_->finish(0);
  poll();
  EXPECT_EQ(drained.calls, 0);
  port_->say(1, "goes on");
  port_->finish(1);
  poll();
  EXPECT_EQ(drained.calls, 1);
  EXPECT_FALSE(drained.error);
  EXPECT_EQ((*next(second).value)->text, "goes on");
  EXPECT_EQ(traces_->stops, 0);
}

TEST_F(EngineTest, RefusesRequestsWhileItDrains) {
  const TokenStream first = open();
  GotDone drained;
  engine_->async_drain(drained.handler());
  GotResult refused;
  engine_->async_generate(prompt(), refused.handler());
  EXPECT_EQ(refused.calls, 0);
  poll();
  EXPECT_EQ(refused.error, EngineErrc::kStopping);
  EXPECT_EQ(port_->size(), 1U);
  EXPECT_EQ(drained.calls, 0);
}

TEST_F(EngineTest, HearsOfTheEndOfARequestBeforeThatOfTheDraining) {
  std::vector<std::string> order;
  engine_->async_generate(prompt(), [&](auto, const auto&) { order.emplace_back("request"); });
  engine_->async_drain([&](auto) { order.emplace_back("drained"); });
  port_->finish(0);
  poll();
  EXPECT_EQ(order, (std::vector<std::string>{"request", "drained"}));
}

TEST_F(EngineTest, CompletesEachWaitForTheDraining) {
  GotDone done;
  for (int i = 0; i < 3; ++i) engine_->async_drain(done.handler());
  EXPECT_EQ(done.calls, 0);
  poll();
  EXPECT_EQ(done.calls, 3);
  engine_->async_drain(done.handler());
  poll();
  EXPECT_EQ(done.calls, 4);
}

TEST_F(EngineTest, GoesOnDrainingWhenAWaitForItIsTakenBack) {
  const TokenStream stream = open();
  boost::asio::cancellation_signal signal;
  GotDone taken_back;
  GotDone other;
  engine_->async_drain(bind_cancellation_slot(signal.slot(), taken_back.handler()));
  engine_->async_drain(other.handler());
  signal.emit(cancellation_type::total);
  poll();
  EXPECT_EQ(taken_back.error, operation_aborted);
  EXPECT_EQ(other.calls, 0);
  port_->finish(0);
  poll();
  EXPECT_EQ(other.calls, 1);
  EXPECT_EQ(taken_back.calls, 1);
}

TEST_F(EngineTest, ShutsDownByCancellingAndThenStoppingItsActors) {
  port_->stops_at_once = false;
  GotResult request;
  GotDone done;
  engine_->async_generate(prompt(), request.handler());
  engine_->async_shutdown(done.handler());
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kShutdown);
  EXPECT_EQ(traces_->stops, 0) << "stopped while a request is left";
  port_->end_asked();
  EXPECT_EQ(traces_->stops, 1);
  poll();
  EXPECT_EQ(request.error, EngineErrc::kStopping);
  EXPECT_EQ(done.calls, 0) << "the actors run still";
  port_->finish_stop();
  poll();
  EXPECT_EQ(done.calls, 1);
  EXPECT_FALSE(done.error);
}

TEST_F(EngineTest, CancelsARequestThatBeginsWhileItShutsDown) {
  GotResult request;
  GotDone done;
  port_->while_making = [&] { engine_->async_shutdown(done.handler()); };
  engine_->async_generate(prompt(), request.handler());
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kShutdown);
  poll();
  EXPECT_EQ(done.calls, 0);
  port_->end_asked();
  poll();
  EXPECT_EQ(request.error, EngineErrc::kStopping);
  EXPECT_EQ(done.calls, 1);
}

TEST_F(EngineTest, ShutsDownOnceHoweverOftenItIsAsked) {
  GotDone done;
  engine_->async_drain(done.handler());
  engine_->async_shutdown(done.handler());
  engine_->async_shutdown(done.handler());
  poll();
  engine_->async_shutdown(done.handler());
  poll();
  EXPECT_EQ(done.calls, 4);
  EXPECT_EQ(traces_->stops, 1);
}

TEST_F(EngineTest, MayBeDestroyedByTheHandlerOfItsShutdown) {
  engine_->async_shutdown([&](error_code) { engine_.reset(); });
  poll();
  EXPECT_EQ(traces_->destroyed, 1);
}

TEST_F(EngineTest, EndsEverythingWhenItIsDestroyedThoughNobodyRunsItsContext) {
  GotResult result;
  GotStream stream;
  GotDone drained;
  GotDone shut_down;
  engine_->async_generate(prompt(), result.handler());
  engine_->async_open(prompt(), stream.handler());
  engine_->async_drain(drained.handler());
  engine_->async_shutdown(shut_down.handler());
  engine_.reset();
  EXPECT_EQ(traces_->destroyed, 1);
  EXPECT_EQ(result.calls + stream.calls + drained.calls + shut_down.calls, 0);
  poll();
  EXPECT_EQ(result.error, EngineErrc::kStopping);
  EXPECT_EQ(stream.error, EngineErrc::kStopping);
  EXPECT_EQ(drained.calls, 1);
  EXPECT_EQ(shut_down.calls, 1);
}

TEST_F(EngineTest, LeavesNothingBehindWhenItsContextNeverRunsAgain) {
  TokenStream stream = open();
  stream.async_next([kept = std::make_unique<int>(1)](error_code, const auto&) {});
  engine_->async_generate(prompt(), [kept = std::make_unique<int>(2)](error_code, const auto&) {});
  engine_.reset();
}  // LeakSanitizer looks

TEST_F(EngineTest, RefusesAnOperationThatBeginsAfterItsEnd) {
  auto later = engine_->async_generate(prompt(), boost::asio::deferred);
  auto drain = engine_->async_drain(boost::asio::deferred);
  engine_.reset();
  GotResult got;
  GotDone drained;
  std::move(later)(got.handler());
  std::move(drain)(drained.handler());
  poll();
  EXPECT_EQ(got.error, EngineErrc::kStopping);
  EXPECT_EQ(drained.calls, 1);
}

TEST_F(EngineTest, MovesWithItsRequests) {
  GotResult got;
  engine_->async_generate(prompt(), got.handler());
  Engine moved = std::move(*engine_);
  port_->finish(0);
  poll();
  EXPECT_EQ(got.calls, 1);
  moved = Engine(io_.get_executor(), std::make_unique<FakePort>());
  EXPECT_EQ(traces_->destroyed, 1);
  EXPECT_TRUE(moved.ready());
}

TEST_F(EngineTest, ShowsWhatItsPortSays) {
  EXPECT_TRUE(engine_->ready());
  port_->is_ready = false;
  EXPECT_FALSE(engine_->ready());
  const TokenStream stream = open();
  EXPECT_EQ(engine_->stats().requests, 1U);
  engine_->metrics().counter("weft_ticks_total", "Ticks.").add(3);
  EXPECT_NE(engine_->metrics_text().find("weft_ticks_total 3"), std::string::npos);
}

TEST_F(EngineTest, LeavesAnotherEngineOfTheProcessAlone) {
  auto other_port = std::make_unique<FakePort>();
  FakePort* const other = other_port.get();
  Engine second(io_.get_executor(), std::move(other_port));
  GotResult got;
  second.async_generate(prompt(), got.handler());
  TokenStream stream = open();
  engine_.reset();
  other->say(0, "mine");
  other->finish(0);
  poll();
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.value->choices.at(0).text, "mine");
  EXPECT_EQ(next(stream).error, EngineErrc::kStopping);
}

/// Ticks a port on a thread of its own until it is destroyed.
class Ticking {
 public:
  explicit Ticking(FakePort& port)
      : thread_([&port](const std::stop_token& stop) {
          while (!stop.stop_requested()) port.tick();
        }) {}

 private:
  std::jthread thread_;
};

// Requests come from four threads, their handlers run in two contexts of two threads each, and a
// third of them is cancelled: each handler runs once, on its own context, and a drain ends.
TEST_F(EngineTest, ServesSeveralThreadsAndContexts) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 50;
  boost::asio::thread_pool first(2);
  boost::asio::thread_pool second(2);
  boost::asio::thread_pool callbacks(1);
  Engine shared(callbacks.get_executor(), std::make_unique<FakePort>());
  auto fake = std::make_unique<FakePort>();
  FakePort& pipeline = *fake;
  shared = Engine(callbacks.get_executor(), std::move(fake));
  std::atomic<int> handlers{0};
  std::atomic<int> finished{0};
  {
    const Ticking ticking(pipeline);
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < kThreads; ++caller) {
      callers.emplace_back([&, caller] {
        auto& pool = caller % 2 == 0 ? first : second;
        for (int i = 0; i < kRequests; ++i) {
          Request request = prompt();
          request.max_tokens = 3 + i % 5;
          shared.async_generate(
              std::move(request),
              boost::asio::bind_executor(
                  pool.get_executor(), [&, i](error_code error, const GenerationResult& result) {
                    EXPECT_TRUE(pool.get_executor().running_in_this_thread());
                    EXPECT_FALSE(error);
                    EXPECT_EQ(result.choices.at(0).tokens.size(),
                              3U + static_cast<unsigned>(i) % 5);
                    finished.fetch_add(1);
                    handlers.fetch_add(1);
                  }));
          shared.async_open(prompt(), boost::asio::bind_executor(
                                          pool.get_executor(), [&](error_code, const TokenStream&) {
                                            handlers.fetch_add(1);  // and drops the stream
                                          }));
        }
      });
    }
    callers.clear();
    shared.async_drain(boost::asio::use_future).get();
  }
  first.join();
  second.join();
  EXPECT_EQ(finished.load(), kThreads * kRequests);
  EXPECT_EQ(handlers.load(), 2 * kThreads * kRequests);
  shared.async_shutdown(boost::asio::use_future).get();
}

// The engine is destroyed while requests are queued, running, streaming and ending on other
// threads.
TEST_F(EngineTest, EndsInTheMiddleOfItsWork) {
  for (int round = 0; round < 50; ++round) {
    boost::asio::thread_pool pool(1);
    std::atomic<int> ends{0};
    constexpr int kRequests = 16;
    {
      auto fake = std::make_unique<FakePort>();
      FakePort& pipeline = *fake;
      Engine ending(pool.get_executor(), std::move(fake));
      const Ticking ticking(pipeline);
      for (int i = 0; i < kRequests; ++i) {
        Request request = prompt();
        request.max_tokens = i;
        ending.async_generate(std::move(request), [&](error_code error, const auto&) {
          EXPECT_TRUE(!error || error == EngineErrc::kStopping) << error.message();
          ends.fetch_add(1);
        });
      }
      if (round % 2 == 0) ending.async_shutdown([](error_code) {});
    }
    pool.join();
    ASSERT_EQ(ends.load(), kRequests);
  }
}

}  // namespace
}  // namespace weft
