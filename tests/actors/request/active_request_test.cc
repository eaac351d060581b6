#include "weft/actors/request/active_request.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"

namespace weft {
namespace {

class CountingSink final : public RequestSink {
 public:
  void admit(std::int32_t /*prompt_tokens*/) noexcept override { admissions.fetch_add(1); }
  void deliver(const DeltaView& /*delta*/) noexcept override { deliveries.fetch_add(1); }
  void finish(Finish&& finish) noexcept override {
    last = std::move(finish);
    finishes.fetch_add(1);
  }

  std::atomic<int> admissions{0};
  std::atomic<int> deliveries{0};
  std::atomic<int> finishes{0};
  Finish last;
};

struct Made {
  std::shared_ptr<CountingSink> sink = std::make_shared<CountingSink>();
  std::shared_ptr<ActiveRequest> request;

  explicit Made(std::uint64_t id = 1, const std::shared_ptr<EndingRequests>& ending = nullptr,
                TimePoint arrived = TimePoint(Duration(7)))
      : request(std::make_shared<ActiveRequest>(RequestId(id), Request{}, sink, arrived)) {
    if (ending) request->set_ending(ending);
  }
};

std::vector<std::uint64_t> take_ids(EndingRequests& ending) {
  std::vector<std::uint64_t> ids;
  ending.take_all(
      [&](const std::shared_ptr<ActiveRequest>& request) { ids.push_back(request->id().value()); });
  return ids;
}

TEST(ActiveRequestTest, TellsItsSinkOfEachThingThatHappens) {
  const Made made;
  RequestTicket ticket(made.request);
  ticket->admit(3);
  ticket->deliver({});
  ticket->deliver({});
  std::move(ticket).finish({.reason = FinishReason::kLength});
  EXPECT_EQ(made.sink->admissions, 1);
  EXPECT_EQ(made.sink->deliveries, 2);
  EXPECT_EQ(made.sink->finishes, 1);
  EXPECT_EQ(made.sink->last.reason, FinishReason::kLength);
}

TEST(ActiveRequestTest, IsInTheListOfTheActorThatHasItsTicketWhenItIsAskedToEnd) {
  const auto early = std::make_shared<EndingRequests>([] {});
  const auto late = std::make_shared<EndingRequests>([] {});
  const Made waits(1);
  const Made scheduled(2);
  for (const Made* const one : {&waits, &scheduled}) one->request->set_early_ending(early);
  scheduled.request->set_early_ending(late);  // has no effect
  scheduled.request->set_ending(late);
  EXPECT_TRUE(waits.request->ask_to_end(EndCause::kCancel));
  EXPECT_TRUE(scheduled.request->ask_to_end(EndCause::kCancel));
  EXPECT_EQ(take_ids(*early), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(take_ids(*late), (std::vector<std::uint64_t>{2}));
}

TEST(ActiveRequestTest, DropsWhatComesAfterItsEnd) {
  const Made made;
  RequestTicket(made.request).finish({});
  made.request->admit(3);
  made.request->deliver({});
  EXPECT_EQ(made.sink->admissions, 0);
  EXPECT_EQ(made.sink->deliveries, 0);
  EXPECT_TRUE(made.request->finished());
}

TEST(ActiveRequestTest, CallsOnFinishedOnceAndBeforeTheSink) {
  const Made made;
  int calls = 0;
  made.request->on_finished([&](const Finish& finish) {
    ++calls;
    EXPECT_EQ(finish.reason, FinishReason::kLength);
    EXPECT_EQ(made.sink->finishes, 0);
  });
  RequestTicket(made.request).finish({.reason = FinishReason::kLength});
  EXPECT_EQ(calls, 1);
}

TEST(ActiveRequestTest, FillsInTheTimesThatTheFinishLeavesOut) {
  const Made made;
  made.request->times().first_token = TimePoint(Duration(9));
  Finish finish;
  finish.times.first_token = TimePoint(Duration(8));
  RequestTicket(made.request).finish(std::move(finish));
  EXPECT_EQ(made.sink->last.times.arrived, TimePoint(Duration(7)));
  EXPECT_EQ(made.sink->last.times.first_token, TimePoint(Duration(8)));
  EXPECT_EQ(made.sink->last.times.ended, TimePoint());
}

TEST(ActiveRequestTest, KeepsTheFirstCauseOfItsEnd) {
  const Made made;
  EXPECT_EQ(made.request->end_cause(), EndCause::kNone);
  EXPECT_FALSE(made.request->ask_to_end(EndCause::kNone));
  EXPECT_TRUE(made.request->ask_to_end(EndCause::kDeadline));
  EXPECT_FALSE(made.request->ask_to_end(EndCause::kCancel));
  EXPECT_EQ(made.request->end_cause(), EndCause::kDeadline);
}

TEST(ActiveRequestTest, CannotBeAskedToEndAfterItsEnd) {
  const auto ending = std::make_shared<EndingRequests>([] {});
  const Made made(1, ending);
  RequestTicket(made.request).finish({});
  EXPECT_FALSE(made.request->ask_to_end(EndCause::kCancel));
  EXPECT_TRUE(take_ids(*ending).empty());
}

TEST(ActiveRequestTest, OutlivesTheListOfThoseThatEnd) {
  auto ending = std::make_shared<EndingRequests>([] {});
  const Made made(1, ending);
  ending.reset();
  EXPECT_TRUE(made.request->ask_to_end(EndCause::kCancel));
}

TEST(RequestTicketTest, FinishesItsRequestWithInternalWhenItIsLost) {
  const Made made;
  {
    const RequestTicket lost(made.request);
  }
  EXPECT_EQ(made.sink->finishes, 1);
  EXPECT_EQ(made.sink->last.reason, FinishReason::kError);
  EXPECT_EQ(made.sink->last.error.code, EngineErrc::kInternal);
}

TEST(RequestTicketTest, FinishesTheRequestOfATicketThatIsAssignedOver) {
  const Made first;
  const Made second;
  RequestTicket ticket(first.request);
  ticket = RequestTicket(second.request);
  EXPECT_EQ(first.sink->finishes, 1);
  EXPECT_EQ(second.sink->finishes, 0);
  std::move(ticket).finish({});
  EXPECT_EQ(second.sink->finishes, 1);
}

TEST(RequestTicketTest, PassesItsDutyOnWhenItIsMoved) {
  const Made made;
  RequestTicket ticket(made.request);
  {
    const RequestTicket other = std::move(ticket);
    EXPECT_EQ(made.sink->finishes, 0);
  }
  EXPECT_EQ(made.sink->finishes, 1);
}

TEST(RequestTicketTest, SaysCancelledWhereTheErrorDoes) {
  const Made cancelled;
  RequestTicket(cancelled.request).fail({EngineErrc::kCancelled, {}});
  EXPECT_EQ(cancelled.sink->last.reason, FinishReason::kCancelled);
  const Made refused;
  RequestTicket(refused.request).fail({EngineErrc::kNeverFits, "needs 9 pages, there are 8"});
  EXPECT_EQ(refused.sink->last.reason, FinishReason::kError);
  EXPECT_EQ(refused.sink->last.error.detail, "needs 9 pages, there are 8");
}

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR
TEST(RequestTicketDeathTest, CallsItABugToFinishARequestTwice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const Made made;
        RequestTicket(made.request).finish({});
        RequestTicket(made.request).finish({});
      },
      "finished twice");
}
#else
TEST(RequestTicketTest, KeepsTheFirstEndWhenARequestIsFinishedTwice) {
  const Made made;
  RequestTicket(made.request).finish({.reason = FinishReason::kLength});
  RequestTicket(made.request).finish({});
  EXPECT_EQ(made.sink->finishes, 1);
  EXPECT_EQ(made.sink->last.reason, FinishReason::kLength);
}
#endif

TEST(EndingRequestsTest, GivesThemInTheOrderInWhichTheyWereAsked) {
  const auto ending = std::make_shared<EndingRequests>([] {});
  std::vector<Made> made;
  for (std::uint64_t id = 1; id <= 5; ++id) made.emplace_back(id, ending);
  for (const std::size_t i : {2U, 0U, 4U}) made[i].request->ask_to_end(EndCause::kCancel);
  EXPECT_EQ(take_ids(*ending), (std::vector<std::uint64_t>{3, 1, 5}));
  EXPECT_TRUE(take_ids(*ending).empty());
  made[1].request->ask_to_end(EndCause::kStop);
  EXPECT_EQ(take_ids(*ending), (std::vector<std::uint64_t>{2}));
}

TEST(EndingRequestsTest, WakesOnceForAllThatWaitToBeTaken) {
  int wakes = 0;
  const auto ending = std::make_shared<EndingRequests>([&] { ++wakes; });
  const Made first(1, ending);
  const Made second(2, ending);
  const Made third(3, ending);
  first.request->ask_to_end(EndCause::kCancel);
  second.request->ask_to_end(EndCause::kCancel);
  EXPECT_EQ(wakes, 1);
  take_ids(*ending);
  third.request->ask_to_end(EndCause::kCancel);
  EXPECT_EQ(wakes, 2);
}

TEST(EndingRequestsTest, KeepsARequestAliveUntilItIsTaken) {
  const auto ending = std::make_shared<EndingRequests>([] {});
  std::optional<Made> made(std::in_place, 1, ending);
  const std::weak_ptr<ActiveRequest> watch = made->request;
  made->request->ask_to_end(EndCause::kCancel);
  made.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(take_ids(*ending), (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(watch.expired());
}

TEST(EndingRequestsTest, LetsGoOfThoseThatNobodyTakes) {
  auto ending = std::make_shared<EndingRequests>([] {});
  std::optional<Made> made(std::in_place, 1, ending);
  const std::weak_ptr<ActiveRequest> watch = made->request;
  made->request->ask_to_end(EndCause::kCancel);
  made.reset();
  ending.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(EndingRequestsTest, DropsTheRestWhenItsTakerThrows) {
  const auto ending = std::make_shared<EndingRequests>([] {});
  const Made first(1, ending);
  const Made second(2, ending);
  first.request->ask_to_end(EndCause::kCancel);
  second.request->ask_to_end(EndCause::kCancel);
  EXPECT_THROW(ending->take_all([](const std::shared_ptr<ActiveRequest>& /*request*/) {
    throw std::bad_alloc();
  }),
               std::bad_alloc);
  EXPECT_EQ(first.request.use_count(), 1);
  EXPECT_EQ(second.request.use_count(), 1);
}

// Two threads ask, one takes and one finishes, all at once: each request is asked successfully at
// most once, taken exactly as often as that, and finished once.
TEST(EndingRequestsTest, LosesNoneWhileOthersAskTakeAndFinish) {
  constexpr std::size_t kRequests = 4000;
  std::atomic<int> wakes{0};
  const auto ending = std::make_shared<EndingRequests>([&] { wakes.fetch_add(1); });
  std::vector<Made> made;
  std::vector<RequestTicket> tickets;
  for (std::uint64_t id = 1; id <= kRequests; ++id) {
    made.emplace_back(id, ending);
    tickets.emplace_back(made.back().request);
  }
  std::atomic<int> running{3};
  std::atomic<int> accepted{0};
  const auto ask = [&](EndCause cause) {
    for (const Made& one : made) {
      if (one.request->ask_to_end(cause)) accepted.fetch_add(1);
    }
    running.fetch_sub(1);
  };
  std::vector<int> taken(kRequests + 1);
  const auto take = [&] {
    ending->take_all([&](const std::shared_ptr<ActiveRequest>& request) {
      EXPECT_NE(request->end_cause(), EndCause::kNone);
      ++taken[request->id().value()];
    });
  };
  {
    const std::jthread cancels([&] { ask(EndCause::kCancel); });
    const std::jthread stops([&] { ask(EndCause::kStop); });
    const std::jthread finishes([&] {
      for (RequestTicket& ticket : tickets) std::move(ticket).finish({});
      running.fetch_sub(1);
    });
    while (running.load() != 0) take();
  }
  take();
  int total = 0;
  for (const int count : taken) {
    EXPECT_LE(count, 1);
    total += count;
  }
  EXPECT_EQ(total, accepted.load());
  EXPECT_LE(wakes.load(), total);
  for (const Made& one : made) {
    EXPECT_EQ(one.sink->finishes, 1);
    EXPECT_EQ(one.request.use_count(), 1);
  }
}

TEST(EngineErrorTest, NamesEachCode) {
  EXPECT_EQ(engine_category().name_of(static_cast<int>(EngineErrc::kOverloaded)), "overloaded");
  EXPECT_EQ(engine_category().name_of(static_cast<int>(EngineErrc::kNoStream)), "no_stream");
  for (int value = 1; value <= static_cast<int>(EngineErrc::kNoStream); ++value) {
    EXPECT_NE(engine_category().name_of(value), "unknown_error") << value;
  }
}

TEST(FinishReasonTest, IsNamedAsOnTheWire) {
  EXPECT_EQ(to_string(FinishReason::kStop), "stop");
  EXPECT_EQ(to_string(FinishReason::kLength), "length");
  EXPECT_EQ(to_string(FinishReason::kCancelled), "cancelled");
  EXPECT_EQ(to_string(FinishReason::kError), "error");
}

}  // namespace
}  // namespace weft
