// Plays each row of the supervision table: an actor of that role fails in that way with messages
// waiting.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/tests/fixture/deterministic_system.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

struct WorkMsg {
  int number;
};
struct FailMsg {
  std::function<void()> fail;
};

struct Diary {
  std::vector<std::string> lines;
  bool refuse_successor = false;
};

class Worker {
 public:
  using Accepts = Protocol<WorkMsg, FailMsg>;

  Worker(ActorContext& /*context*/, std::shared_ptr<Diary> diary) : diary_(std::move(diary)) {
    if (diary_->refuse_successor) throw std::runtime_error("cannot start");
    diary_->lines.emplace_back("start");
  }
  void on(WorkMsg&& message) { note("work " + std::to_string(message.number)); }
  void on(FailMsg&& message) { message.fail(); }
  void undelivered(WorkMsg&& message, const Error& why) {
    note("answer " + std::to_string(message.number) + " " + name(why));
  }
  void undelivered(FailMsg&& /*message*/, const Error& why) { note("answer fail " + name(why)); }
  void exiting(const Error& why) { note("exit " + name(why)); }

 private:
  static std::string name(const Error& why) {
    return std::string(core_category().name_of(why.code.value()));
  }
  void note(std::string line) { diary_->lines.push_back(std::move(line)); }

  std::shared_ptr<Diary> diary_;
};

std::function<void()> failure(ExitKind kind) {
  switch (kind) {
    case ExitKind::kOutOfMemory:
      return [] { throw std::bad_alloc(); };
    case ExitKind::kInternalError:
      return [] { throw InternalError("broken"); };
    case ExitKind::kDeviceLost:
      return [] { throw ActorFailure(ExitKind::kDeviceLost, "gone"); };
    default:
      return [] { throw std::runtime_error("oops"); };
  }
}

std::vector<std::string> expected_diary(SupervisionAction action) {
  switch (action) {
    case SupervisionAction::kRestart:
      return {"start", "work 1", "answer fail actor_failed", "start", "exit actor_failed",
              "work 2"};
    case SupervisionAction::kFailRequests:
      return {"start", "work 1",           "answer fail actor_failed", "answer 2 actor_failed",
              "start", "exit actor_failed"};
    case SupervisionAction::kNotReady:
      return {"start", "work 1", "answer fail actor_failed", "answer 2 not_ready",
              "exit not_ready"};
  }
  return {};
}

struct SupervisionRowTest : testing::TestWithParam<SupervisionRule> {};

TEST_P(SupervisionRowTest, IsWhatHappens) {
  const SupervisionRule& rule = GetParam();
  test::DeterministicSystem play;
  const auto diary = std::make_shared<Diary>();
  const auto actor = play.spawn<Worker>({.name = "worker", .role = rule.role}, diary);
  play.inject(actor, WorkMsg{1});
  play.inject(actor, FailMsg{failure(rule.exit)});
  play.inject(actor, WorkMsg{2});
  play.run_all();

  EXPECT_EQ(diary->lines, expected_diary(rule.action));
  const bool ends = rule.action == SupervisionAction::kNotReady;
  EXPECT_EQ(play.system().ready(), !ends);
  EXPECT_EQ(actor.exited(), ends);
  EXPECT_EQ(play.inject(actor, WorkMsg{3}), ends ? PushResult::kClosed : PushResult::kOk);
  ASSERT_EQ(play.exits().size(), 1U);
  EXPECT_EQ(play.exits()[0].reason.kind, rule.exit);
  EXPECT_EQ(play.exits()[0].action, rule.action);
  EXPECT_EQ(play.exits()[0].actor, "worker");
}

std::string row_name(const testing::TestParamInfo<SupervisionRule>& row) {
  std::string name =
      std::string(to_string(row.param.role)) + "_" + std::string(to_string(row.param.exit));
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, SupervisionRowTest, testing::ValuesIn(default_supervision()),
                         row_name);

struct SupervisionTest : testing::Test {
  void fail() {
    play.inject(actor, FailMsg{failure(ExitKind::kException)});
    play.run_all();
  }

  test::DeterministicSystem play;
  std::shared_ptr<Diary> diary = std::make_shared<Diary>();
  ActorRef<Worker::Accepts> actor = play.spawn<Worker>({.name = "worker"}, diary);
};

/// An actor of the pipeline that holds requests, so its failure costs more than a message.
struct SchedulerSupervisionTest : SupervisionTest {
  SchedulerSupervisionTest() {
    actor = play.spawn<Worker>({.name = "scheduler", .role = ActorRole::kScheduler}, diary);
  }
};

TEST_F(SchedulerSupervisionTest, TakesTheEngineToNotReadyWhenAnActorFailsTooOften) {
  for (std::size_t i = 0; i < defaults::kMaxRestarts; ++i) fail();
  EXPECT_TRUE(play.system().ready());
  fail();
  EXPECT_FALSE(play.system().ready());
  EXPECT_TRUE(actor.exited());
}

TEST_F(SupervisionTest, MessagesEndNoActorThatKeepsNothingFromOneToTheNext) {
  for (std::size_t i = 0; i < 3 * defaults::kMaxRestarts; ++i) fail();
  EXPECT_TRUE(play.system().ready());
  EXPECT_FALSE(actor.exited());
}

/// Fails whenever its timer expires, without a message.
class FailsByItself {
 public:
  using Accepts = Protocol<WorkMsg>;
  explicit FailsByItself(ActorContext& context)
      : timer_(context.make_timer([] { throw std::runtime_error("the timer"); })) {
    timer_.arm_at(context.now() + 1s);
  }
  void on(WorkMsg&& /*message*/) {}
  void undelivered(WorkMsg&& /*message*/, const Error& /*why*/) {}

 private:
  ActorTimer timer_;
};

TEST_F(SupervisionTest, CountsFailuresThatNoMessageCaused) {
  const auto failing = play.spawn<FailsByItself>({.name = "by-itself"});
  for (std::size_t i = 0; i <= defaults::kMaxRestarts; ++i) {
    EXPECT_TRUE(play.system().ready());
    play.advance(1s);
    play.run_all();
  }
  EXPECT_FALSE(play.system().ready());
}

TEST_F(SchedulerSupervisionTest, ForgetsFailuresThatAreLongPast) {
  for (std::size_t i = 0; i < 3 * defaults::kMaxRestarts; ++i) {
    fail();
    play.advance(defaults::kRestartWindow / defaults::kMaxRestarts + 1ms);
  }
  EXPECT_TRUE(play.system().ready());
}

TEST_F(SupervisionTest, LetsThePredecessorAnswerWhenTheSuccessorCannotStart) {
  play.inject(actor, FailMsg{failure(ExitKind::kException)});
  play.inject(actor, WorkMsg{7});
  diary->refuse_successor = true;
  play.run_all();
  EXPECT_EQ(diary->lines, (std::vector<std::string>{"start", "answer fail actor_failed",
                                                    "answer 7 not_ready", "exit not_ready"}));
  EXPECT_FALSE(play.system().ready());
  EXPECT_EQ(play.exits().size(), 2U) << "the failure, and that of the successor";
}

TEST_F(SupervisionTest, CountsRestarts) {
  fail();
  fail();
  EXPECT_EQ(play.system()
                .metrics()
                .counter("weft_actor_restarts_total",
                         "New instances that took over after a failure.", {{"actor", "worker"}})
                .value(),
            2U);
}

TEST_F(SupervisionTest, LeavesTheOtherActorsAlone) {
  const auto other_diary = std::make_shared<Diary>();
  const auto other = play.spawn<Worker>({.name = "other"}, other_diary);
  play.inject(actor, FailMsg{failure(ExitKind::kDeviceLost)});
  play.inject(other, WorkMsg{1});
  play.run_all();
  EXPECT_TRUE(actor.exited());
  EXPECT_EQ(other_diary->lines, (std::vector<std::string>{"start", "work 1"}));
}

/// Fails in every way there is; nothing that it throws may get out.
class Hopeless {
 public:
  using Accepts = Protocol<WorkMsg>;
  explicit Hopeless(ActorContext& /*context*/) {}
  void on(WorkMsg&& /*message*/) { throw std::runtime_error("on"); }
  void undelivered(WorkMsg&& /*message*/, const Error& /*why*/) { throw std::runtime_error("un"); }
  void exiting(const Error& /*why*/) { throw std::runtime_error("exiting"); }
};

TEST_F(SupervisionTest, SwallowsWhatAnAnswerThrows) {
  const auto hopeless = play.spawn<Hopeless>({.name = "hopeless", .role = ActorRole::kScheduler});
  play.inject(hopeless, WorkMsg{1});
  play.inject(hopeless, WorkMsg{2});
  play.run_all();
  EXPECT_TRUE(play.system().ready());
  play.stop();
  EXPECT_TRUE(hopeless.exited());
}

/// Writes down when it ends, unless it was kept.
struct DroppedMsg {
  std::shared_ptr<void> note;
};
class Dropper {
 public:
  using Accepts = Protocol<DroppedMsg, WorkMsg>;
  Dropper(ActorContext& /*context*/, std::shared_ptr<Diary> diary) : diary_(std::move(diary)) {}
  void on(DroppedMsg&& /*message*/) {}
  void on(WorkMsg&& /*message*/) { diary_->lines.emplace_back("work"); }
  void undelivered(DroppedMsg&& /*message*/, const Error& /*why*/) {}
  void undelivered(WorkMsg&& /*message*/, const Error& /*why*/) {}

 private:
  std::shared_ptr<Diary> diary_;
};

TEST_F(SupervisionTest, AMessageThatNobodyKeptEndsBeforeTheNextIsHandled) {
  test::ManualContext context;
  ActorSystem system(context.get_executor());
  const auto dropper = system.spawn<Dropper>({.name = "dropper"}, diary);
  diary->lines.clear();
  const auto note = [&](const char* line) {
    return std::shared_ptr<void>(nullptr, [this, line](void*) { diary->lines.emplace_back(line); });
  };
  dropper.try_send(DroppedMsg{note("end 1")});
  dropper.try_send(WorkMsg{1});
  dropper.try_send(DroppedMsg{note("end 2")});
  context.run_all();
  EXPECT_EQ(diary->lines, (std::vector<std::string>{"end 1", "work", "end 2"}));
}

TEST_F(SupervisionTest, ContinuesTheBatchOfAnActivationAfterARestart) {
  test::ManualContext context;
  ActorSystem system(context.get_executor());
  const auto batched = system.spawn<Worker>({.name = "batched"}, diary);
  diary->lines.clear();
  batched.try_send(WorkMsg{1});
  batched.try_send(FailMsg{failure(ExitKind::kException)});
  batched.try_send(WorkMsg{2});
  context.run_all();
  EXPECT_EQ(diary->lines, (std::vector<std::string>{"work 1", "answer fail actor_failed", "start",
                                                    "exit actor_failed", "work 2"}));
}

}  // namespace
}  // namespace weft
