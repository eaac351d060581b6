// Training beside requests, one message at a time.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/actors/training/training_task.h"
#include "weft/gpu/forwarding_device.h"
#include "weft/tests/actors/pipeline_fixture.h"
#include "weft/tests/fixture/fake_training.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class PipelineTrainingTest : public PipelineFixture {
 protected:
  /// A task of this pipeline, and how it ended.
  struct Trained {
    std::shared_ptr<FakeTraining> work;
    TrainingTask task;
    std::shared_ptr<std::optional<Result<void>>> end;

    [[nodiscard]] boost::system::error_code error() const {
      return *end && !**end ? (*end)->error().code : boost::system::error_code();
    }
  };

  Trained make(FakeTraining::Options options = {}) {
    auto work = std::make_shared<FakeTraining>(std::move(options));
    return {work, TrainingTask(work), std::make_shared<std::optional<Result<void>>>()};
  }
  void put(const Trained& one) {
    pipeline->train(one.task.state(), [end = one.end](const Result<void>& result) {
      EXPECT_FALSE(*end) << "a second end";
      *end = result;
    });
  }
  Trained train(FakeTraining::Options options = {}) {
    Trained one = make(std::move(options));
    put(one);
    return one;
  }
  /// Delivers what lets the first iteration begin.
  void begin_iteration() {
    ASSERT_TRUE(play.expect<TrainingMsg>({}, kSchedulerId));
    ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  }
  testing::AssertionResult next_piece() { return play.expect<PieceMsg>(kExecutorId, kExecutorId); }
};

TEST_F(PipelineTrainingTest, AnIdleDeviceTrainsATaskToItsEnd) {
  start();
  const Trained one = train({.iterations = 3, .pieces = 4});
  play.run_all();
  ASSERT_TRUE(*one.end);
  EXPECT_TRUE((*one.end)->has_value());
  EXPECT_EQ(one.work->ran, 12);
  const TrainingProgress progress = one.task.progress();
  EXPECT_EQ(progress.phase, TrainingPhase::kEnded);
  EXPECT_EQ(progress.iterations_done, 3);
  EXPECT_EQ(progress.pieces, 12U);
  EXPECT_DOUBLE_EQ(progress.loss, 1.0 / 3);
  EXPECT_EQ(play.in_flight(), 0U);
  expect_served();
}

TEST_F(PipelineTrainingTest, AnArrivalStopsAnIterationBetweenTwoPieces) {
  start();
  const Trained one = train({.iterations = 2, .pieces = 4});
  begin_iteration();
  ASSERT_TRUE(next_piece());
  EXPECT_EQ(one.work->ran, 1);
  const Sent sent = send(request(5, 1));
  enqueue();
  // The plan was sent, so the next piece does not run, though its message comes first.
  ASSERT_TRUE(next_piece());
  EXPECT_EQ(one.work->ran, 1);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  play.run_all();
  EXPECT_EQ(sent.sink->tokens.at(0), expected(sent));
  ASSERT_TRUE(*one.end);
  EXPECT_EQ(one.work->ran, 8) << "no piece is lost, and none runs twice";
  EXPECT_EQ(one.work->abandoned, 0);
}

TEST_F(PipelineTrainingTest, APlanThatOvertakesThePieceEndsTheTraining) {
  start();
  const Trained one = train();
  begin_iteration();
  ASSERT_TRUE(next_piece());
  const Sent sent = send(request(5, 1));
  enqueue();
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  EXPECT_EQ(one.work->ran, 1);
  play.run_all();
  EXPECT_EQ(sent.sink->tokens.at(0), expected(sent));
  EXPECT_EQ(one.work->ran, 12);
}

TEST_F(PipelineTrainingTest, ARequestIsDeferredByNoMoreThanTheBound) {
  config.training_deferral_bound = 100ms;
  start();
  // Each iteration takes 4 * 10 ms.
  const Trained one = train({.iterations = 1000, .pieces = 4, .took = 10ms});
  begin_iteration();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(next_piece());
  ASSERT_TRUE(play.expect<StepDoneMsg>(kExecutorId, kSchedulerId));
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId)) << "the second iteration";
  const Sent sent = send(request(5, 1));
  enqueue();
  play.advance(100ms);
  ASSERT_TRUE(next_piece());
  EXPECT_EQ(one.work->ran, 5) << "it waits for the iteration under way";
  play.advance(1ms);  // its timer is due
  ASSERT_TRUE(next_piece());
  EXPECT_EQ(one.work->ran, 5);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  EXPECT_EQ(device->steps(), 3U);
  one.task.cancel();
  play.run_all();
  EXPECT_EQ(sent.sink->tokens.at(0), expected(sent));
}

TEST_F(PipelineTrainingTest, APausedTaskGivesItsMemoryBackAndContinues) {
  start();
  const Trained one = train({.iterations = 2, .pieces = 4});
  begin_iteration();
  ASSERT_TRUE(next_piece());
  one.task.pause();
  EXPECT_EQ(one.task.progress().phase, TrainingPhase::kPaused);
  EXPECT_EQ(one.work->abandoned, 1) << "no piece runs";
  play.run_all();
  EXPECT_EQ(one.work->ran, 1);
  EXPECT_FALSE(*one.end);
  expect_served();
  one.task.resume();
  play.run_all();
  ASSERT_TRUE(*one.end);
  EXPECT_EQ(one.work->ran, 9) << "the abandoned piece ran again";
  EXPECT_TRUE(one.work->adds_up());
}

TEST_F(PipelineTrainingTest, APauseDuringAPieceTakesEffectBehindIt) {
  start();
  std::optional<TrainingTask> task;
  const Trained one = make({.iterations = 1, .pieces = 4, .on_piece = [&](std::int64_t piece) {
                              if (piece == 2) task->pause();
                              return Result<void>();
                            }});
  task = one.task;
  put(one);
  play.run_all();
  EXPECT_EQ(one.work->ran, 2);
  EXPECT_EQ(one.work->abandoned, 1);
  task->resume();
  play.run_all();
  EXPECT_TRUE(*one.end);
}

TEST_F(PipelineTrainingTest, ACancelledTaskEndsOnceBehindItsPiece) {
  start();
  std::optional<TrainingTask> task;
  const Trained one = make({.iterations = 1, .pieces = 4, .on_piece = [&](std::int64_t piece) {
                              if (piece == 2) task->cancel();
                              return Result<void>();
                            }});
  task = one.task;
  put(one);
  play.run_all();
  EXPECT_EQ(one.work->ran, 2);
  EXPECT_EQ(one.error(), EngineErrc::kCancelled);
  task->cancel();
  task->resume();
  play.run_all();
  expect_served();
}

TEST_F(PipelineTrainingTest, WorkThatFailsEndsItsTaskAndNoRequest) {
  start();
  const Trained fails = train({.on_piece = [](std::int64_t piece) -> Result<void> {
    if (piece == 3) return Error{EngineErrc::kNotNumbers, "the loss"};
    return {};
  }});
  play.run_all();
  EXPECT_EQ(fails.error(), EngineErrc::kNotNumbers);
  const Trained throws = train(
      {.on_piece = [](std::int64_t) -> Result<void> { throw std::runtime_error("no memory"); }});
  play.run_all();
  EXPECT_EQ(throws.error(), EngineErrc::kInternal);
  EXPECT_EQ((*throws.end)->error().detail, "no memory");
  expect_served();
}

TEST_F(PipelineTrainingTest, AStepThatFailsLosesNoPiece) {
  start();
  const Trained one = train({.iterations = 2, .pieces = 3});
  int steps = 0;
  on_step = [&](const Plan& plan) {
    if (!plan.entries.empty() && ++steps == 2) throw std::runtime_error("the device fails");
  };
  begin_iteration();
  ASSERT_TRUE(next_piece());
  const Sent sent = send();
  play.run_all();
  EXPECT_EQ(sent.error(), EngineErrc::kDeviceFailed);
  ASSERT_TRUE(*one.end);
  EXPECT_TRUE((*one.end)->has_value());
  EXPECT_EQ(one.work->ran, 6);
  expect_served();
}

TEST_F(PipelineTrainingTest, ASchedulerThatFailsLosesNoPiece) {
  start();
  const Trained one = train({.iterations = 2, .pieces = 3});
  begin_iteration();
  ASSERT_TRUE(next_piece());
  send();
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorkerId));
  actor_fails = true;
  ASSERT_TRUE(play.expect<EnqueueMsg>(kWorkerId, kSchedulerId));
  play.run_all();
  ASSERT_TRUE(*one.end);
  EXPECT_EQ(one.work->ran, 6);
  expect_served();
}

TEST_F(PipelineTrainingTest, ASchedulerThatFailsOverATasksMessageIsToldOfTheTaskAgain) {
  start();
  const Trained one = train();
  actor_fails = true;
  ASSERT_TRUE(play.expect<TrainingMsg>({}, kSchedulerId));
  play.advance(1ms);
  play.run_all();
  EXPECT_TRUE(*one.end);
}

TEST_F(PipelineTrainingTest, ASchedulerThatIsLostEndsTheTask) {
  start();
  const Trained one = train();
  failure = ExitKind::kDeviceLost;
  actor_fails = true;
  ASSERT_TRUE(play.expect<TrainingMsg>({}, kSchedulerId));
  EXPECT_EQ(one.error(), EngineErrc::kNotReady);
}

TEST_F(PipelineTrainingTest, ASecondTaskIsRefusedUntilTheFirstHasEnded) {
  start();
  const Trained first = train();
  const Trained second = train();
  EXPECT_EQ(second.error(), EngineErrc::kOverloaded);
  play.run_all();
  EXPECT_TRUE((*first.end)->has_value());
  const Trained again{first.work, first.task, std::make_shared<std::optional<Result<void>>>()};
  put(again);
  EXPECT_EQ(again.error(), EngineErrc::kBadRequest);
  EXPECT_EQ(first.work->ran, 12);
}

TEST_F(PipelineTrainingTest, ATaskWithoutIterationsEndsAtOnce) {
  start();
  const Trained one = train({.iterations = 0});
  ASSERT_TRUE(*one.end);
  EXPECT_TRUE((*one.end)->has_value());
  const Trained cancelled = make();
  cancelled.task.cancel();
  EXPECT_EQ(cancelled.task.progress().phase, TrainingPhase::kNew);
  put(cancelled);
  EXPECT_EQ(cancelled.error(), EngineErrc::kCancelled);
  play.run_all();
}

TEST_F(PipelineTrainingTest, ATaskEndsWithItsPipeline) {
  start();
  const Trained one = train();
  begin_iteration();
  ASSERT_TRUE(next_piece());
  pipeline.reset();
  EXPECT_EQ(one.error(), EngineErrc::kStopping);
  EXPECT_EQ(one.work.use_count(), 1) << "the work is its owner's again";
}

TEST_F(PipelineTrainingTest, ADeviceThatIsLostEndsTheTask) {
  start();
  const Trained one = train();
  begin_iteration();
  on_step = [](const Plan&) { throw ActorFailure(ExitKind::kDeviceLost, "gone"); };
  send();
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kNotReady);
  const Trained late = train();
  EXPECT_EQ(late.error(), EngineErrc::kNotReady);
}

TEST_F(PipelineTrainingTest, ATaskIsRefusedWhereNothingTrains) {
  config.training = TrainingKind::kOff;
  start();
  const Trained off = train();
  EXPECT_EQ(off.error(), EngineErrc::kBadRequest);
  EXPECT_NE((*off.end)->error().detail.find("training.policy"), std::string::npos);
  pipeline.reset();
  config.training = TrainingKind::kDeferral;
  ranks = 2;
  start();
  const Trained refused = train();
  EXPECT_EQ(refused.error(), EngineErrc::kBadRequest);
  EXPECT_NE((*refused.end)->error().detail.find("ranks"), std::string::npos);
}

/// A device that is no host's.
class GpuDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] bool lets_train() const noexcept override { return false; }
};

TEST_F(PipelineTrainingTest, ATaskIsRefusedByAModelOnAGpu) {
  before_device = [](std::shared_ptr<StepDevice> whole) {
    return std::make_shared<GpuDevice>(std::move(whole));
  };
  start();
  const Trained one = train();
  EXPECT_EQ(one.error(), EngineErrc::kBadRequest);
  EXPECT_NE((*one.end)->error().detail.find("GPU"), std::string::npos);
}

TEST_F(PipelineTrainingTest, FinishFirstServesOnceTheTaskHasEnded) {
  config.training = TrainingKind::kFinishFirst;
  start();
  const Trained one = train({.iterations = 5, .pieces = 4});
  begin_iteration();
  const Sent sent = send();
  bool early = false;
  on_step = [&](const Plan& plan) { early = early || (!plan.entries.empty() && !*one.end); };
  play.run_all();
  EXPECT_TRUE(*one.end);
  EXPECT_FALSE(early);
  EXPECT_EQ(sent.sink->tokens.at(0), expected(sent));
}

TEST_F(PipelineTrainingTest, FillingTrainsBehindTheStepsOfARequest) {
  config.training = TrainingKind::kFill;
  start();
  int beside = 0;
  const Trained one = train(
      {.iterations = 3, .pieces = 4, .took = 10ms, .on_piece = [&](std::int64_t) -> Result<void> {
         if (pipeline->stats().running > 0) ++beside;
         return {};
       }});
  begin_iteration();
  ASSERT_TRUE(next_piece());
  const Sent sent = send(request(5, 40));
  play.run_all();
  EXPECT_EQ(sent.sink->tokens.at(0), expected(sent));
  EXPECT_TRUE(*one.end);
  EXPECT_EQ(one.work->ran, 12);
  EXPECT_GT(beside, 4);
}

}  // namespace
}  // namespace weft::test
