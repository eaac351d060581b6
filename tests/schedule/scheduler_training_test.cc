// How training shares plans with requests.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBound{100};
constexpr milliseconds kIteration{30};

class SchedulerTrainingTest : public SchedulerFixture {
 protected:
  void begin(TrainingKind kind = TrainingKind::kDeferral, std::int32_t adapter_places = 0) {
    SchedulerOptions options = roomy();
    options.limits.adapter_places = adapter_places;
    options.training = {kind, kBound};
    start(options);
    on_training_ = [this](const Plan& plan) {
      EXPECT_EQ(plan.training_pieces, plan.entries.empty() ? kWholeIteration : 1);
      ++pieces_;
      return TrainingDone{
          .pieces = 1, .ends_iteration = true, .took = kIteration, .longest = kIteration};
    };
    scheduler_->train(1, now_);
  }
  /// Begins, and measures one iteration.
  void begin_measured(TrainingKind kind = TrainingKind::kDeferral) {
    begin(kind);
    ASSERT_TRUE(tick());
    ASSERT_EQ(pieces_, 1);
  }
  void finish_without_task() {
    scheduler_->train(0, now_);
    finish_all();
  }

  int pieces_ = 0;
};

TEST_F(SchedulerTrainingTest, AnIdleDeviceTrainsAnIterationAPlan) {
  begin();
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().training_pieces, kWholeIteration);
  EXPECT_TRUE(newest().entries.empty());
  EXPECT_FALSE(plan()) << "one plan with training at a time";
  run();
  ASSERT_TRUE(plan());
  run();
  EXPECT_EQ(pieces_, 2);
  EXPECT_EQ(scheduler_->stats().training.iterations, 2U);
  finish_without_task();
  EXPECT_FALSE(plan());
}

TEST_F(SchedulerTrainingTest, ALoadOfAnAdapterTakesTheTrainingOutOfAPlanThatIsAmended) {
  begin(TrainingKind::kDeferral, 1);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().training_pieces, kWholeIteration);
  const GroupOutcome& one = submit({.adapter = 1});
  amend();
  EXPECT_EQ(newest().adapters.size(), 1U);
  EXPECT_EQ(newest().training_pieces, 0) << "the load would wait for an iteration";
  run();
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(one), nullptr);
  run();
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, AGroupWaitsForTheBoundLessAnIterationAndThenRuns) {
  begin_measured();
  const GroupOutcome& one = submit({});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().entries.empty()) << "an iteration runs first";
  EXPECT_EQ(scheduler_->oldest_wait(), now_);
  run();
  ASSERT_EQ(scheduler_->wake_at(), now_ + kBound - kIteration + Duration(1));
  now_ = *scheduler_->wake_at() - Duration(1);
  EXPECT_FALSE(scheduler_->changed(now_));
  now_ = *scheduler_->wake_at();
  EXPECT_TRUE(scheduler_->changed(now_));
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(one), nullptr);
  EXPECT_EQ(newest().training_pieces, 0);
  EXPECT_EQ(scheduler_->oldest_wait(), std::nullopt);
  run();
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, AGroupThatIsDueInterruptsAnIterationByANewerPlan) {
  begin_measured();
  ASSERT_TRUE(plan());  // an iteration that takes long
  submit({});
  EXPECT_FALSE(plan());
  ASSERT_EQ(scheduler_->wake_at(), now_ + kBound + Duration(1));
  now_ = *scheduler_->wake_at();
  ASSERT_TRUE(plan()) << "behind the one that trains";
  EXPECT_EQ(newest().entries.size(), 1U);
  EXPECT_EQ(planned(), 2U);
  run();
  run();
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, APlanThatWaitsLosesItsTrainingToAGroup) {
  begin();
  ASSERT_TRUE(plan());
  const GroupOutcome& one = submit({});
  ASSERT_TRUE(scheduler_->changed());
  amend();
  EXPECT_NE(entry_of(one), nullptr);
  EXPECT_EQ(newest().training_pieces, 0);
  run();
  EXPECT_EQ(pieces_, 0);
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, EachGroupIsJudgedByItsOwnWait) {
  begin_measured();
  const GroupOutcome& first = submit({.client = 1});
  now_ += milliseconds(5);
  // Of better priority, and so before it in the queue.
  const GroupOutcome& second = submit({.priority = -1, .client = 2});
  now_ += kBound - kIteration - milliseconds(4);
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(first), nullptr);
  EXPECT_EQ(entry_of(second), nullptr);
  run();
  now_ += milliseconds(5);
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(second), nullptr);
  run();
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, AGroupThatGaveWayDoesNotWaitForTraining) {
  SchedulerOptions options = roomy();
  options.limits.rows = 1;
  options.training = {TrainingKind::kFinishFirst, kBound};
  start(options);
  const GroupOutcome& batch = submit({.max_tokens = 20, .cls = RequestClass::kBatch});
  ASSERT_TRUE(tick());
  const GroupOutcome& chat = submit({.max_tokens = 1});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(batch));
  ASSERT_TRUE(chat.end);
  on_training_ = [](const Plan&) { return TrainingDone{}; };
  scheduler_->train(1, now_);
  const GroupOutcome& fresh = submit({.cls = RequestClass::kBatch});
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(batch), nullptr);
  run();
  while (!batch.end) ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(fresh)) << "it has never begun";
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, AGroupWaitsNoLongerOnceTheTaskIsPaused) {
  begin_measured(TrainingKind::kFinishFirst);
  const GroupOutcome& one = submit({});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(one));
  EXPECT_EQ(scheduler_->wake_at(), std::nullopt);
  scheduler_->train(0, now_);
  EXPECT_TRUE(scheduler_->changed());
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(one), nullptr);
  run();
  finish_all();
}

TEST_F(SchedulerTrainingTest, ALostPlanLetsTrainingGoOn) {
  begin();
  ASSERT_TRUE(plan());
  lose();
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().training_pieces, kWholeIteration);
  run();
  finish_without_task();
}

TEST_F(SchedulerTrainingTest, FillingTrainsBehindTheEntriesOfAPlan) {
  begin_measured(TrainingKind::kFill);
  const GroupOutcome& one = submit({});
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(one), nullptr);
  EXPECT_EQ(newest().training_pieces, 1) << "no step is too long";
  run();
  EXPECT_EQ(pieces_, 2);
  finish_without_task();
}

/// Plays random groups beside training for some virtual time. Between a plan and its results there
/// passes the time that its training takes. Checks that no group waits for training longer than the
/// bound, which is judged without the policy: by the time of each plan of training alone.
TEST_F(SchedulerTrainingTest, NoGroupWaitsBeyondTheBoundAndTrainingGoesOn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    SchedulerOptions options = roomy();
    const milliseconds bound(random() % 200);
    options.training = {TrainingKind::kDeferral, bound};
    start(options);
    scheduler_->train(1, now_);
    int pieces_left = 0;
    int iterations = 0;
    constexpr milliseconds kPiece{7};
    on_training_ = [&](const Plan& plan) {
      TrainingDone done{.longest = kPiece};
      const TimePoint began = now_;
      if (pieces_left == 0) pieces_left = 1 + static_cast<int>(random() % 8);
      do {
        if (plan.entries.empty() && scheduler_->oldest_wait() && !scheduler_->stats().running) {
          EXPECT_LE(now_ - *scheduler_->oldest_wait(), bound + kPiece);
        }
        ++done.pieces;
        done.took += kPiece;
        now_ = began + done.took;
        done.ends_iteration = --pieces_left == 0;
        // An executor stops for a newer plan.
        if (plan.entries.empty() && scheduler_->changed(now_) && this->plan()) break;
      } while (!done.ends_iteration && done.pieces < plan.training_pieces);
      iterations += done.ends_iteration ? 1 : 0;
      return done;
    };
    for (int i = 0; i < 2000; ++i) {
      if (random() % 12 == 0) {
        submit(
            {.max_tokens = 1 + static_cast<std::int32_t>(random() % 12), .client = random() % 5});
      }
      if (planned() < 2) static_cast<void>(plan());
      if (planned() > 0) run();
      now_ += milliseconds(random() % 3);
    }
    EXPECT_GT(iterations, 20);
    EXPECT_GT(ended_, 100U);
    finish_without_task();
    outcomes_.clear();
    ended_ = 0;
  }
}

}  // namespace
}  // namespace weft::test
