#include "weft/core/actor/actor_system.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/thread.h"
#include "weft/tests/fixture/manual_context.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

struct NumberMsg {
  int number;
};
struct CallMsg {
  std::function<void(ActorContext&)> call;
};

/// The events that a Recorder saw. It is kept outside of the Recorder, so that it outlives
/// instances. Written by one actor at a time.
struct Record {
  std::vector<int> numbers;
  std::vector<int> undelivered;
  std::vector<boost::system::error_code> reasons;
  std::vector<std::thread::id> threads;
  int instances = 0;
  int exits = 0;
};

class Recorder {
 public:
  using Accepts = Protocol<NumberMsg, CallMsg>;

  Recorder(ActorContext& context, std::shared_ptr<Record> record)
      : context_(context), record_(std::move(record)) {
    ++record_->instances;
  }
  void on(NumberMsg&& message) {
    record_->numbers.push_back(message.number);
    record_->threads.push_back(std::this_thread::get_id());
  }
  void on(CallMsg&& message) { message.call(context_); }
  void undelivered(NumberMsg&& message, const Error& why) {
    record_->undelivered.push_back(message.number);
    record_->reasons.push_back(why.code);
  }
  void undelivered(CallMsg&& /*message*/, const Error& why) {
    record_->reasons.push_back(why.code);
  }
  void exiting(const Error& /*why*/) { ++record_->exits; }

 private:
  ActorContext& context_;
  std::shared_ptr<Record> record_;
};

struct ActorSystemTest : testing::Test {
  test::ManualContext context;
  std::shared_ptr<Record> record = std::make_shared<Record>();
  ActorSystem system{context.get_executor()};
};

TEST_F(ActorSystemTest, HandlesMessagesOnlyOnTheCallersExecutor) {
  const auto actor = system.spawn<Recorder>({.name = "recorder"}, record);
  context.run_all();
  EXPECT_EQ(actor.try_send(NumberMsg{1}), PushResult::kWoke);
  EXPECT_EQ(actor.try_send(NumberMsg{2}), PushResult::kOk);
  EXPECT_TRUE(record->numbers.empty());
  EXPECT_EQ(context.pending(), 1U) << "a push to an idle actor posts one activation";
  context.run_all();
  EXPECT_EQ(record->numbers, (std::vector{1, 2}));
}

TEST_F(ActorSystemTest, YieldsTheExecutorAfterAFullActivation) {
  const auto actor =
      system.spawn<Recorder>({.name = "recorder", .messages_per_activation = 2}, record);
  context.run_all();
  for (int i = 0; i < 5; ++i) actor.try_send(NumberMsg{i});
  for (const std::size_t handled : {2U, 4U, 5U}) {
    EXPECT_TRUE(context.run_one());
    EXPECT_EQ(record->numbers.size(), handled);
  }
  EXPECT_FALSE(context.run_one());
}

TEST_F(ActorSystemTest, KeepsMessagesForAnActorThatIsDeclaredAndNotStartedYet) {
  const auto actor = system.declare<Recorder::Accepts>({.name = "later"});
  EXPECT_EQ(actor.try_send(NumberMsg{1}), PushResult::kOk);
  context.run_all();
  system.start<Recorder>(actor, record);
  context.run_all();
  EXPECT_EQ(record->numbers, (std::vector{1}));
}

TEST_F(ActorSystemTest, KeepsTheOrderOfASender) {
  const auto actor = system.spawn<Recorder>({.name = "recorder"}, record);
  Sender<Recorder::Accepts> sender = actor.sender(ActorId(9));
  for (int i = 0; i < 1000; ++i) {
    std::thread([&] { sender.try_send(NumberMsg{i}); }).join();
  }
  context.run_all();
  ASSERT_EQ(record->numbers.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(record->numbers[static_cast<std::size_t>(i)], i);
}

TEST_F(ActorSystemTest, RefusesWhatDoesNotFitAndCountsIt) {
  const auto actor = system.spawn<Recorder>({.name = "small", .capacity = 2}, record);
  EXPECT_TRUE(taken(actor.try_send(NumberMsg{1})));
  EXPECT_TRUE(taken(actor.try_send(NumberMsg{2})));
  EXPECT_EQ(actor.try_send(NumberMsg{3}), PushResult::kFull);
  const auto& refused = system.metrics().counter(
      "weft_actor_refused_total", "Messages refused because the actor's mailbox was full.",
      {{"actor", "small"}});
  EXPECT_EQ(refused.value(), 1U);
}

TEST_F(ActorSystemTest, HandsBackWhatWaitsWhenItStopsAndThenIsClosed) {
  const auto actor = system.spawn<Recorder>({.name = "recorder"}, record);
  context.run_all();
  actor.try_send(NumberMsg{1});
  actor.try_send(NumberMsg{2});
  system.request_stop();
  context.run_all();
  EXPECT_TRUE(record->numbers.empty());
  EXPECT_EQ(record->undelivered, (std::vector{1, 2}));
  EXPECT_EQ(record->reasons[0], CoreErrc::kStopped);
  EXPECT_EQ(record->exits, 1);
  EXPECT_TRUE(actor.exited());
  EXPECT_EQ(actor.try_send(NumberMsg{3}), PushResult::kClosed);
}

TEST_F(ActorSystemTest, CompletesAsyncStopWhenTheLastActorHasExited) {
  system.spawn<Recorder>({.name = "one"}, record);
  system.spawn<Recorder>({.name = "two"}, record);
  context.run_all();
  bool stopped = false;
  system.async_stop([&] { stopped = true; });
  EXPECT_FALSE(stopped);
  EXPECT_EQ(system.running(), 2U);
  context.run_all();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(record->exits, 2);
}

TEST_F(ActorSystemTest, StartsNothingOnceItStops) {
  system.request_stop();
  EXPECT_THROW(system.spawn<Recorder>({.name = "late"}, record), boost::system::system_error);
}

TEST_F(ActorSystemTest, RefusesAnActorThatCouldNeverHandleAMessage) {
  EXPECT_THROW(system.spawn<Recorder>({.name = "no room", .capacity = 0}, record),
               std::invalid_argument);
  EXPECT_THROW(system.spawn<Recorder>({.name = "idle", .messages_per_activation = 0}, record),
               std::invalid_argument);
}

TEST_F(ActorSystemTest, ThrowsFromSpawnWhatTheActorsConstructorThrows) {
  struct Broken {
    using Accepts = Protocol<NumberMsg>;
    explicit Broken(ActorContext& /*context*/) { throw std::runtime_error("no model"); }
    void on(NumberMsg&& /*message*/) {}
    void undelivered(NumberMsg&& /*message*/, const Error& /*why*/) {}
  };
  EXPECT_THROW(system.spawn<Broken>({.name = "event"}), std::runtime_error);
  EXPECT_THROW(system.spawn<Broken>({.name = "thread", .thread = DedicatedThread{}}),
               std::runtime_error);
  EXPECT_EQ(system.running(), 0U);
}

TEST(ActorSystem, StopsActorsOfAnExecutorThatNoLongerRuns) {
  const auto record = std::make_shared<Record>();
  boost::asio::io_context context;
  {
    ActorSystem system(context.get_executor());
    const auto actor = system.spawn<Recorder>({.name = "recorder"}, record);
    actor.try_send(NumberMsg{1});
  }
  EXPECT_EQ(record->undelivered, (std::vector{1}));
  EXPECT_EQ(record->exits, 1);
  context.run();  // the activation that was posted finds the actor gone
  EXPECT_TRUE(record->numbers.empty());
}

TEST(ActorSystem, LeavesAddressesThatOutliveItClosed) {
  boost::asio::io_context context;
  std::optional<ActorRef<Recorder::Accepts>> actor;
  {
    ActorSystem system(context.get_executor());
    actor = system.spawn<Recorder>({.name = "recorder"}, std::make_shared<Record>());
  }
  EXPECT_EQ(actor->try_send(NumberMsg{1}), PushResult::kClosed);
  EXPECT_EQ(actor->sender(ActorId(1)).try_send(NumberMsg{1}), PushResult::kClosed);
}

TEST(ActorSystem, LivesTwiceInOneProcessWithoutTheOneSeeingTheOther) {
  test::ManualContext context;
  ActorSystem first(context.get_executor());
  ActorSystem second(context.get_executor());
  const auto record = std::make_shared<Record>();
  const auto actor = first.spawn<Recorder>({.name = "same name"}, record);
  second.spawn<Recorder>({.name = "same name"}, std::make_shared<Record>());
  second.request_stop();
  context.run_all();
  EXPECT_TRUE(taken(actor.try_send(NumberMsg{1})));
  context.run_all();
  EXPECT_EQ(record->numbers, (std::vector{1}));
}

TEST(ActorSystem, TriesAgainWithTheNextMessageWhenAnActivationCannotBePosted) {
  test::ManualContext context;
  ActorSystem system(context.get_executor());
  const auto record = std::make_shared<Record>();
  const auto actor = system.spawn<Recorder>({.name = "recorder"}, record);
  context.run_all();
  context.fail_posts(1);
  EXPECT_TRUE(taken(actor.try_send(NumberMsg{1})));
  EXPECT_EQ(context.pending(), 0U);
  EXPECT_TRUE(taken(actor.try_send(NumberMsg{2})));
  context.run_all();
  EXPECT_EQ(record->numbers, (std::vector{1, 2}));
}

TEST(ActorSystem, NeverRunsAnActorOnTwoThreadsAtOnce) {
  boost::asio::thread_pool pool(4);
  const auto record = std::make_shared<Record>();  // written without locks: ThreadSanitizer watches
  {
    ActorSystem system(pool.get_executor());
    const auto actor =
        system.spawn<Recorder>({.name = "recorder", .messages_per_activation = 3}, record);
    std::vector<std::jthread> senders;
    for (int sender = 0; sender < 4; ++sender) {
      senders.emplace_back([actor, sender] {
        auto out = actor.sender(ActorId(100 + static_cast<std::uint64_t>(sender)));
        for (int i = 0; i < 5000; ++i) {
          while (out.try_send(NumberMsg{i}) == PushResult::kFull) std::this_thread::yield();
        }
      });
    }
    senders.clear();
    system.async_stop(boost::asio::use_future).get();
  }
  EXPECT_EQ(record->numbers.size() + record->undelivered.size(), 20'000U);
}

struct TickMsg {};

/// Counts handled messages where another thread can watch.
class Ticker {
 public:
  using Accepts = Protocol<TickMsg>;
  Ticker(ActorContext& /*context*/, std::atomic<int>* handled) : handled_(handled) {}
  void on(TickMsg&& /*message*/) { handled_->fetch_add(1, std::memory_order_release); }
  void undelivered(TickMsg&& /*message*/, const Error& /*why*/) {}

 private:
  std::atomic<int>* handled_;
};

// Each message comes just when the one before has been handled, at any point of the actor's way to
// sleep.
TEST(ActorSystem, LosesNoWakeUpWhileAnActorFallsAsleep) {
  constexpr int kMessages = 100'000;
  boost::asio::thread_pool pool(1);
  std::atomic<int> handled{0};
  ActorSystem system(pool.get_executor());
  auto sender = system.spawn<Ticker>({.name = "ticker"}, &handled).sender(ActorId(1));
  for (int sent = 0; sent < kMessages; ++sent) {
    for (int pause = sent % 64; pause > 0; --pause) pause_thread();
    ASSERT_TRUE(taken(sender.try_send(TickMsg{})));
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (handled.load(std::memory_order_acquire) != sent + 1) {
      ASSERT_LT(std::chrono::steady_clock::now(), patience) << "asleep over message " << sent;
    }
  }
}

struct DedicatedActorTest : testing::Test {
  /// Returns when the actor has handled all earlier messages of `sender`.
  static void wait_for(Sender<Recorder::Accepts>& sender) {
    std::promise<void> done;
    sender.try_send(CallMsg{[&](ActorContext&) { done.set_value(); }});
    done.get_future().get();
  }

  boost::asio::io_context context;
  std::shared_ptr<Record> record = std::make_shared<Record>();
  ActorSystem system{context.get_executor()};
};

TEST_F(DedicatedActorTest, RunsOnAThreadOfItsOwnWithoutTheExecutor) {
  const auto actor = system.spawn<Recorder>({.name = "own", .thread = DedicatedThread{}}, record);
  auto sender = actor.sender(ActorId(1));
  sender.try_send(NumberMsg{1});
  sender.try_send(NumberMsg{2});
  wait_for(sender);
  EXPECT_EQ(record->numbers, (std::vector{1, 2}));
  EXPECT_NE(record->threads[0], std::this_thread::get_id());
  EXPECT_EQ(record->threads[0], record->threads[1]);
}

TEST_F(DedicatedActorTest, IsWokenFromItsParkingWithoutSpinning) {
  const auto actor =
      system.spawn<Recorder>({.name = "parks", .thread = DedicatedThread{.spin = 0ns}}, record);
  auto sender = actor.sender(ActorId(1));
  for (int i = 0; i < 1000; ++i) wait_for(sender);
}

TEST_F(DedicatedActorTest, StaysOnItsProcessor) {
  const auto actor =
      system.spawn<Recorder>({.name = "pinned", .thread = DedicatedThread{.cpu = 0}}, record);
  auto sender = actor.sender(ActorId(1));
  int cpu = -1;
  sender.try_send(CallMsg{[&](ActorContext&) { cpu = sched_getcpu(); }});
  wait_for(sender);
  EXPECT_EQ(cpu, 0);
}

TEST_F(DedicatedActorTest, IsRefusedAProcessorThatIsNotThere) {
  try {
    system.spawn<Recorder>({.name = "nowhere", .thread = DedicatedThread{.cpu = 1023}}, record);
    FAIL() << "nothing was thrown";
  } catch (const boost::system::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("nowhere: cpu 1023"), std::string::npos)
        << error.what();
  }
}

TEST_F(DedicatedActorTest, AnswersWhatWaitsWhenTheSystemIsDestroyed) {
  std::latch entered(1);
  std::latch go_on(1);
  auto own = std::make_unique<ActorSystem>(context.get_executor());
  const auto actor = own->spawn<Recorder>({.name = "own", .thread = DedicatedThread{}}, record);
  auto sender = actor.sender(ActorId(1));
  sender.try_send(CallMsg{[&](ActorContext&) {
    entered.count_down();
    go_on.wait();
  }});
  entered.wait();
  sender.try_send(NumberMsg{1});
  own->request_stop();
  go_on.count_down();
  own.reset();
  EXPECT_EQ(record->undelivered, (std::vector{1}));
}

}  // namespace
}  // namespace weft
