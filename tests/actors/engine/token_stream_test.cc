#include "weft/actors/engine/token_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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
using test::GotNext;
using Tokens = std::vector<TokenId>;

class TokenStreamTest : public test::EngineFixture {};

TEST_F(TokenStreamTest, GivesWhatIsDelivered) {
  TokenStream stream = open();
  port_->deliver(0, "ab", Tokens{5, 6});
  const GotNext first = next(stream);
  EXPECT_FALSE(first.error);
  EXPECT_EQ((*first.value)->choice, 0);
  EXPECT_EQ((*first.value)->text, "ab");
  EXPECT_EQ((*first.value)->tokens, (Tokens{5, 6}));
}

TEST_F(TokenStreamTest, WaitsForWhatIsNotThereYet) {
  TokenStream stream = open();
  GotNext got;
  stream.async_next(got.handler());
  poll();
  EXPECT_EQ(got.calls, 0);
  port_->say(0, "x");
  EXPECT_EQ(got.calls, 0) << "completed on the thread that delivers";
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_EQ((*got.value)->text, "x");
}

TEST_F(TokenStreamTest, GivesTokensWhoseTextIsNotCompleteYet) {
  TokenStream stream = open();
  port_->deliver(0, "", Tokens{9});
  const GotNext got = next(stream);
  EXPECT_EQ((*got.value)->text, "");
  EXPECT_EQ((*got.value)->tokens, Tokens{9});
}

TEST_F(TokenStreamTest, MakesOneDeltaOfWhatTheReaderHasNotTaken) {
  TokenStream stream = open();
  for (const char* text : {"a", "b", "c"}) port_->say(0, text);
  EXPECT_EQ((*next(stream).value)->text, "abc");
  port_->say(0, "d");
  EXPECT_EQ((*next(stream).value)->text, "d");
}

TEST_F(TokenStreamTest, TakesWhatCameBetweenTheWakingAndTheHandler) {
  TokenStream stream = open();
  GotNext got;
  stream.async_next(got.handler());
  port_->say(0, "a");
  port_->say(0, "b");
  poll();
  EXPECT_EQ((*got.value)->text, "ab");
}

TEST_F(TokenStreamTest, LetsTheOutputsTakeTurns) {
  Request request = test::prompt();
  request.sampling.n = 3;
  TokenStream stream = open(std::move(request));
  port_->say(0, "a", 2);
  port_->say(0, "b", 0);
  port_->say(0, "c", 1);
  std::vector<std::int32_t> order;
  for (int i = 0; i < 3; ++i) {
    const GotNext got = next(stream);
    order.push_back((*got.value)->choice);
    port_->say(0, "again", order.back());  // has to wait for the others
  }
  EXPECT_EQ(order, (std::vector<std::int32_t>{0, 1, 2}));
}

TEST_F(TokenStreamTest, GivesLogprobsWhenTheyWereAskedFor) {
  Request request = test::prompt();
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 2;
  TokenStream stream = open(std::move(request));
  const std::array<TokenLogprob, 4> top{{{1, -1}, {2, -2}, {3, -3}, {4, -4}}};
  const std::array<float, 2> logprobs{-1, -3};
  const Tokens tokens{1, 3};
  const TokenText own{.begin = 0, .size = 1};
  const auto deliver = [&](std::size_t i) {
    port_->request(0).deliver({.text = "x",
                               .tokens = std::span(tokens).subspan(i, 1),
                               .logprobs = std::span(logprobs).subspan(i, 1),
                               .token_texts = {&own, 1},
                               .top = std::span(top).subspan(2 * i, 2),
                               .top_per_token = 2});
  };
  deliver(0);
  deliver(1);
  const Delta delta = **next(stream).value;
  EXPECT_EQ(delta.logprobs, (std::vector<float>{-1, -3}));
  EXPECT_EQ(delta.token_texts, (std::vector<TokenText>{{0, 1}, {1, 1}}));
  ASSERT_EQ(delta.top.size(), 4U);
  EXPECT_EQ(delta.top[3].token, 4);
  EXPECT_EQ(delta.top_per_token, 2);
}

TEST_F(TokenStreamTest, EndsWithNothingAndThenHasTheWholeResult) {
  Request request = test::prompt();
  request.sampling.n = 2;
  TokenStream stream = open(std::move(request));
  port_->say(0, "one", 0);
  port_->say(0, "tw", 1);
  next(stream);
  next(stream);
  port_->say(0, "o", 1);
  port_->finish(0, {.reason = FinishReason::kStop,
                    .choices = {{.reason = FinishReason::kStop, .stop = "."},
                                {.reason = FinishReason::kLength, .cumulative_logprob = -2}},
                    .usage = {.prompt_tokens = 4, .output_tokens = 6},
                    .times = {.ended = TimePoint(Duration(5))}});
  EXPECT_EQ((*next(stream).value)->text, "o");
  const GotNext end = next(stream);
  EXPECT_FALSE(end.error);
  EXPECT_FALSE(end.value->has_value());
  const GenerationResult& result = stream.result();
  EXPECT_EQ(result.reason, FinishReason::kStop);
  ASSERT_EQ(result.choices.size(), 2U);
  EXPECT_EQ(result.choices[0].text, "one");
  EXPECT_EQ(result.choices[0].end.stop, ".");
  EXPECT_EQ(result.choices[1].text, "two");
  EXPECT_EQ(result.choices[1].tokens, (Tokens{'t', 'w', 'o'}));
  EXPECT_EQ(result.choices[1].end.reason, FinishReason::kLength);
  EXPECT_EQ(result.choices[1].end.cumulative_logprob, -2);
  EXPECT_EQ(result.usage.output_tokens, 6);
  EXPECT_EQ(result.times.arrived, TimePoint(Duration(1)));
  EXPECT_EQ(result.times.ended, TimePoint(Duration(5)));
}

TEST_F(TokenStreamTest, SaysTheEndAsOftenAsItIsAsked) {
  TokenStream stream = open();
  port_->finish(0);
  for (int i = 0; i < 3; ++i) {
    const GotNext end = next(stream);
    EXPECT_FALSE(end.error);
    EXPECT_FALSE(end.value->has_value());
  }
}

TEST_F(TokenStreamTest, GivesWhatWasProducedBeforeItSaysWhyTheRequestFailed) {
  TokenStream stream = open();
  port_->say(0, "half");
  port_->fail(0, {EngineErrc::kDeviceFailed, "cpu: step 7"});
  EXPECT_EQ((*next(stream).value)->text, "half");
  EXPECT_THROW(static_cast<void>(stream.result()), boost::system::system_error);
  const GotNext end = next(stream);
  EXPECT_EQ(end.error, EngineErrc::kDeviceFailed);
  EXPECT_FALSE(end.value->has_value());
  EXPECT_EQ(stream.error_detail(), "cpu: step 7");
  EXPECT_EQ(stream.result().choices[0].text, "half");
  EXPECT_EQ(stream.result().choices[0].end.reason, FinishReason::kError);
  EXPECT_EQ(stream.result().error_detail, "cpu: step 7");
}

TEST_F(TokenStreamTest, SaysDeadlineWhereThatCancelledTheRequest) {
  TokenStream stream = open();
  port_->finish(
      0, {.reason = FinishReason::kCancelled, .error = {EngineErrc::kDeadlineExceeded, "1000 ms"}});
  EXPECT_EQ(next(stream).error, EngineErrc::kDeadlineExceeded);
}

TEST_F(TokenStreamTest, RefusesASecondReadAndGoesOnWithTheFirst) {
  TokenStream stream = open();
  GotNext first;
  GotNext second;
  stream.async_next(first.handler());
  stream.async_next(second.handler());
  EXPECT_EQ(second.calls, 0);
  poll();
  EXPECT_EQ(second.calls, 1);
  EXPECT_EQ(second.error, EngineErrc::kReadOutstanding);
  EXPECT_EQ(first.calls, 0);
  port_->say(0, "a");
  poll();
  EXPECT_EQ((*first.value)->text, "a");
}

TEST_F(TokenStreamTest, LetsAHandlerReadOn) {
  TokenStream stream = open();
  std::string text;
  const std::function<void()> read = [&] {
    stream.async_next([&](boost::system::error_code error, const std::optional<Delta>& delta) {
      if (error || !delta) return;
      text += delta->text;
      read();
    });
  };
  read();
  for (const char* part : {"a", "b", "c"}) {
    port_->say(0, part);
    poll();
  }
  port_->finish(0);
  poll();
  EXPECT_EQ(text, "abc");
}

TEST_F(TokenStreamTest, KeepsWhatWasProducedWhenItIsStopped) {
  TokenStream stream = open();
  port_->say(0, "kept");
  stream.stop();
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kStop);
  EXPECT_EQ((*next(stream).value)->text, "kept");
  port_->end_asked();
  EXPECT_FALSE(next(stream).error);
  EXPECT_EQ(stream.result().reason, FinishReason::kStop);
}

TEST_F(TokenStreamTest, DropsWhatWasNotReadWhenItIsCancelled) {
  TokenStream stream = open();
  port_->say(0, "dropped");
  stream.cancel();
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
  GotNext got;
  stream.async_next(got.handler());
  poll();
  EXPECT_EQ(got.calls, 0) << "the request has not ended yet";
  port_->end_asked();
  poll();
  EXPECT_EQ(got.error, EngineErrc::kCancelled);
  EXPECT_EQ(stream.result().reason, FinishReason::kCancelled);
}

TEST_F(TokenStreamTest, AbortsTheReadThatWaitsWhenItIsCancelled) {
  TokenStream stream = open();
  GotNext got;
  stream.async_next(got.handler());
  stream.cancel();
  EXPECT_EQ(got.calls, 0);
  poll();
  EXPECT_EQ(got.error, operation_aborted);
}

TEST_F(TokenStreamTest, AbortsAReadThatIsCancelledBeforeItsHandlerRan) {
  TokenStream stream = open();
  GotNext got;
  stream.async_next(got.handler());
  port_->say(0, "too late");
  stream.cancel();
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_EQ(got.error, operation_aborted);
}

TEST_F(TokenStreamTest, CancelsItsRequestWhenItIsDestroyed) {
  GotNext got;
  {
    TokenStream stream = open();
    stream.async_next(got.handler());
  }
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_EQ(got.error, operation_aborted);
}

TEST_F(TokenStreamTest, CancelsItsRequestWhenItIsAssignedOver) {
  TokenStream stream = open();
  stream = open();
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
  EXPECT_EQ(port_->request(1).end_cause(), EndCause::kNone);
  port_->say(1, "second");
  EXPECT_EQ((*next(stream).value)->text, "second");
}

TEST_F(TokenStreamTest, CancelsNothingWhenItIsMoved) {
  TokenStream stream = open();
  TokenStream moved = std::move(stream);
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kNone);
  EXPECT_TRUE(moved);
}

TEST_F(TokenStreamTest, RefusesToBeUsedWhenItIsEmpty) {
  TokenStream empty;
  EXPECT_FALSE(empty);
  const auto no_stream = [](const auto& use) {
    try {
      use();
      ADD_FAILURE() << "did not throw";
    } catch (const boost::system::system_error& error) {
      EXPECT_EQ(error.code(), EngineErrc::kNoStream);
    }
  };
  no_stream([&] { empty.async_next([](auto, const auto&) {}); });
  no_stream([&] { empty.cancel(); });
  no_stream([&] { static_cast<void>(empty.result()); });
}

TEST_F(TokenStreamTest, HasNoResultBeforeItsEnd) {
  TokenStream stream = open();
  try {
    static_cast<void>(stream.result());
    ADD_FAILURE() << "did not throw";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), EngineErrc::kNotFinished);
  }
}

TEST_F(TokenStreamTest, OutlivesItsEngine) {
  TokenStream stream = open();
  port_->say(0, "left");
  engine_.reset();
  EXPECT_EQ((*next(stream).value)->text, "left");
  EXPECT_EQ(next(stream).error, EngineErrc::kStopping);
}

TEST_F(TokenStreamTest, EndsWithInternalWhenItsTicketIsLost) {
  TokenStream stream = open();
  port_->fail(0, {EngineErrc::kInternal, {}});
  EXPECT_EQ(next(stream).error, EngineErrc::kInternal);
}

class TakenBack : public TokenStreamTest, public testing::WithParamInterface<cancellation_type> {};

TEST_P(TakenBack, LosesNothing) {
  TokenStream stream = open();
  boost::asio::cancellation_signal signal;
  GotNext got;
  stream.async_next(bind_cancellation_slot(signal.slot(), got.handler()));
  signal.emit(GetParam());
  EXPECT_EQ(got.calls, 0);
  poll();
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kNone);
  port_->say(0, "all");
  EXPECT_EQ((*next(stream).value)->text, "all");
}

INSTANTIATE_TEST_SUITE_P(TokenStreamTest, TakenBack,
                         testing::Values(cancellation_type::total, cancellation_type::partial,
                                         cancellation_type::all,
                                         cancellation_type::terminal | cancellation_type::partial));

TEST_F(TokenStreamTest, IsCancelledByTerminalCancellation) {
  TokenStream stream = open();
  port_->say(0, "a");
  next(stream);
  boost::asio::cancellation_signal signal;
  GotNext got;
  stream.async_next(bind_cancellation_slot(signal.slot(), got.handler()));
  signal.emit(cancellation_type::terminal);
  poll();
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kCancel);
  port_->end_asked();
  EXPECT_EQ(next(stream).error, EngineErrc::kCancelled);
}

TEST_F(TokenStreamTest, ForgetsTheSlotOfAReadThatIsDone) {
  TokenStream stream = open();
  boost::asio::cancellation_signal signal;
  GotNext first;
  stream.async_next(bind_cancellation_slot(signal.slot(), first.handler()));
  port_->say(0, "a");
  poll();
  GotNext second;
  stream.async_next(second.handler());
  signal.emit(cancellation_type::all);
  poll();
  EXPECT_EQ(second.calls, 0);
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kNone);
  port_->say(0, "b");
  poll();
  EXPECT_EQ((*second.value)->text, "b");
}

TEST_F(TokenStreamTest, CompletesOnceWhenCancellationComesTooLate) {
  TokenStream stream = open();
  boost::asio::cancellation_signal signal;
  GotNext got;
  stream.async_next(bind_cancellation_slot(signal.slot(), got.handler()));
  port_->say(0, "a");
  signal.emit(cancellation_type::all);
  poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_EQ((*got.value)->text, "a");
}

TEST_F(TokenStreamTest, GivesTextThatIsLongerThanWhatItReserved) {
  Request request = test::prompt();
  request.max_tokens = 100'000;
  TokenStream stream = open(std::move(request));
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string part = std::to_string(i) + " ";
    port_->say(0, part);
    expected += part;
  }
  EXPECT_EQ((*next(stream).value)->text, expected);
  port_->finish(0);
  next(stream);
  EXPECT_EQ(stream.result().choices[0].text, expected);
  EXPECT_EQ(stream.result().choices[0].tokens.size(), expected.size());
}

TEST_F(TokenStreamTest, EndsWithAnErrorWhenItCannotKeepWhatIsDelivered) {
  TokenStream stream = open();
  port_->say(0, "kept");
  const TokenId token = 1;
  // A delta longer than a stream counts is refused before it is looked at, as when there is no
  // memory.
  port_->deliver(0, "lost", std::span(&token, std::size_t{kMaxStreamTokens} + 1));
  EXPECT_EQ(port_->request(0).end_cause(), EndCause::kFailure);
  port_->say(0, "a gap before it");
  port_->finish(0, {.reason = FinishReason::kStop});
  EXPECT_EQ((*next(stream).value)->text, "kept");
  EXPECT_EQ(next(stream).error, EngineErrc::kInternal);
  EXPECT_EQ(stream.error_detail(), "output not kept");
}

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR
using TokenStreamDeathTest = TokenStreamTest;

TEST_F(TokenStreamDeathTest, CallsItABugToDeliverWhatItsRequestDidNotAskFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Request request = test::prompt();
  request.sampling.logprobs = true;
  const TokenStream stream = open(std::move(request));
  EXPECT_DEATH(port_->say(0, "x", 1), "an output that its request does not have");
  EXPECT_DEATH(port_->say(0, "x"), "lacks the logprobs");
}
#endif

// One thread delivers and ends, the other reads and takes reads back at random: the text arrives
// whole and in order, and the end comes once.
TEST_F(TokenStreamTest, LosesNothingBetweenTwoThreads) {
  constexpr int kRounds = 40;
  constexpr int kParts = 300;
  for (int round = 0; round < kRounds; ++round) {
    TokenStream stream = open();
    const std::size_t request = port_->size() - 1;
    boost::asio::cancellation_signal signal;
    std::string text;
    bool ended = false;
    std::uint32_t seed = static_cast<std::uint32_t>(round) * 2654435761U;
    const std::function<void()> read = [&] {
      stream.async_next(bind_cancellation_slot(
          signal.slot(), [&](boost::system::error_code error, const std::optional<Delta>& delta) {
            ended = !delta && error != operation_aborted;
            if (delta) text += delta->text;
            if (!ended) return read();
            EXPECT_FALSE(error) << error.message();
          }));
      seed = seed * 1664525U + 1013904223U;
      if (seed >> 29 == 0) signal.emit(cancellation_type::total);
    };
    read();
    std::string expected;
    {
      const std::jthread producer([&] {
        for (int i = 0; i < kParts; ++i) port_->say(request, std::to_string(i) + ",");
        port_->finish(request);
      });
      for (int i = 0; i < kParts; ++i) expected += std::to_string(i) + ",";
      while (!ended) poll();
    }
    ASSERT_EQ(text, expected) << "round " << round;
  }
}

// cancel() and stop() come from one thread, reads from another, deliveries and ends from a third.
TEST_F(TokenStreamTest, EndsOnceWhoeverEndsItFirst) {
  for (int round = 0; round < 200; ++round) {
    TokenStream stream = open();
    const std::size_t request = port_->size() - 1;
    int ends = 0;
    const std::function<void()> read = [&] {
      stream.async_next([&](boost::system::error_code error, const std::optional<Delta>& delta) {
        if (delta || error == operation_aborted) return read();
        ++ends;
        EXPECT_TRUE(!error || error == EngineErrc::kCancelled);
      });
    };
    read();
    {
      const std::jthread producer([&] {
        for (int i = 0; i < 20; ++i) port_->say(request, "x");
        port_->finish(request);
      });
      const std::jthread caller([&] { round % 2 == 0 ? stream.cancel() : stream.stop(); });
      while (ends == 0) poll();
    }
    poll();
    EXPECT_EQ(ends, 1);
  }
}

}  // namespace
}  // namespace weft
