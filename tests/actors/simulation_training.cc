// How a simulation's training tasks come and go, and what is checked of them.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/schedule/scheduler.h"
#include "weft/tests/actors/simulation.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft::test {

/// Somebody begins a task, or pauses, continues or cancels the present one.
void Simulation::change_training() {
  if (!task_) return begin_training();
  const std::uint64_t what = random(20);
  if (what == 0) {
    is_cancelled_ = true;
    task_->cancel();
  } else if (what < 4) {
    ++training_.paused;
    is_paused_ = true;
    task_->pause();
  } else if (what < 14) {
    is_paused_ = false;
    task_->resume();
  } else if (what < 16) {
    training_fails_ = chance(0.3);
  } else if (port_->ready()) {
    const TrainingTask other(std::make_shared<FakeTraining>(FakeTraining::Options{}));
    port_->train(other.state(), [](const Result<void>& result) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, EngineErrc::kOverloaded);
    });
  }
}

void Simulation::begin_training() {
  const std::chrono::microseconds took(random(5000));
  FakeTraining::Options how{.took = took};
  how.iterations = static_cast<std::int64_t>(random(8));
  how.pieces = static_cast<std::int64_t>(1 + random(6));
  how.on_piece = [this, took](std::int64_t /*piece*/) { return train_piece(took); };
  work_ = std::make_shared<FakeTraining>(std::move(how));
  ++training_.tasks;
  task_.emplace(work_);
  is_paused_ = is_cancelled_ = training_fails_ = false;
  // Its end may come within the call.
  const TrainingTask task = *task_;
  if (chance(0.1)) {
    is_paused_ = true;
    task.pause();
  }
  port_->train(task.state(), [this](const Result<void>& result) { end_training(result); });
}

/// Within a piece, which takes time. Checks that no request waits too long while it begins.
Result<void> Simulation::train_piece(Duration took) {
  const NoFailingAllocation own;
  EXPECT_TRUE(task_) << "a piece runs of a task that has ended";
  EXPECT_FALSE(is_paused_) << "a piece runs of a task that is paused";
  ++training_.pieces;
  training_.beside += rows_in_use_ > 0 ? 1 : 0;
  training_.deferred += oldest_wait_ ? 1 : 0;
  const SimulatedModel& model = models_.front();
  // Messages to the scheduler may tell it of what would let the request begin, and messages to the
  // detokenizer may have all ticks. Timers are as good as their allocations.
  const bool is_up_to_date = !system_.has_message_for({*model.system, ActorId(1)}) &&
                             !system_.has_message_for({*model.system, ActorId(3)});
  const bool defers = model.config.training == TrainingKind::kDeferral;
  if (oldest_wait_ && rows_in_use_ == 0 && is_up_to_date && defers && !options_.allocations) {
    EXPECT_LE(system_.clock().now() - *oldest_wait_, model.config.training_deferral_bound);
  }
  system_.clock().advance(took);
  if (!std::exchange(training_fails_, false)) return {};
  ++failures_;
  if (chance(0.5)) throw std::runtime_error("the training throws");
  return Error{EngineErrc::kNotNumbers, "the training fails"};
}

void Simulation::end_training(const Result<void>& result) {
  const NoFailingAllocation own;
  ASSERT_TRUE(task_) << "a task has ended twice";
  const TrainingProgress progress = task_->progress();
  task_.reset();
  EXPECT_EQ(progress.phase, TrainingPhase::kEnded);
  EXPECT_EQ(progress.iterations_done, work_->iterations_done());
  EXPECT_TRUE(work_->adds_up());
  note(static_cast<std::uint64_t>(work_->ran));
  if (result) {
    ++training_.done;
    EXPECT_EQ(work_->iterations_done(), work_->iterations());
    return;
  }
  const auto code = result.error().code;
  if (code == EngineErrc::kCancelled) {
    ++training_.cancelled;
    EXPECT_TRUE(is_cancelled_);
    return;
  }
  ++training_.failed;
  const bool known = code == EngineErrc::kNotNumbers || code == EngineErrc::kInternal;
  EXPECT_TRUE(known && failures_ > 0) << to_string(result.error());
}

/// After each message of the scheduler.
void Simulation::watch_training(const Scheduler& scheduler) {
  const SchedulerStats stats = scheduler.stats();
  oldest_wait_ = scheduler.oldest_wait();
  rows_in_use_ = stats.running;
  const SimulatedModel& model = models_.front();
  if (model.config.training == TrainingKind::kDeferral) {
    EXPECT_LE(stats.training.longest_wait, model.config.training_deferral_bound);
  }
  if (model.config.training == TrainingKind::kInferenceFirst) {
    EXPECT_EQ(stats.training.longest_wait, Duration{});
  }
}

}  // namespace weft::test
