#include "weft/measure/engine/training_beside.h"

#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/loading/loaded_model.h"
#include "weft/measure/engine/engine_load.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/engine/synthetic_training.h"
#include "weft/tests/fixture/fake_training.h"
#include "weft/tests/measure/engine/tiny_model.h"

namespace weft::measure {
namespace {

using test::FakeTraining;
using test::tiny_model;

constexpr std::int64_t kPieces = 4;  // of an iteration

Config config_of(TrainingKind kind) {
  Config config;
  config.threads = 1;
  config.max_rows = 8;
  config.training = kind;
  return config;
}

RunningPipeline tiny_pipeline() {
  const Config config = config_of(TrainingKind::kDeferral);
  return {config, load_served(tiny_model().opened, tiny_model().tokenizer, config).value()};
}

TEST(TrainingBesideTest, ThePiecesOfALoadCountAndThoseBeforeItDoNot) {
  std::counting_semaphore<> allowed(kPieces);
  std::binary_semaphore reached(0);
  const auto work = std::make_shared<FakeTraining>(FakeTraining::Options{
      .iterations = 1000, .pieces = kPieces, .on_piece = [&](std::int64_t piece) {
        if (piece == kPieces + 3) reached.release();
        allowed.acquire();
        return Result<void>();
      }});
  const RunningPipeline pipeline = tiny_pipeline();
  {
    TrainingBeside beside(*pipeline, work);
    beside.begin_load();
    allowed.release(2);
    reached.acquire();
    const TrainingRun run = beside.end_load();
    EXPECT_EQ(run.pieces, 2U);
    EXPECT_GT(run.seconds, 0);
    allowed.release(1000);  // pieces that run until the training ends
  }
  EXPECT_TRUE(work->adds_up());
}

TEST(TrainingBesideTest, TrainingThatFailsIsAnErrorAtItsBeginningAndBehindALoad) {
  const RunningPipeline pipeline = tiny_pipeline();
  std::int64_t fails_at = 1;
  std::binary_semaphore may_fail(0);
  const auto make = [&] {
    return std::make_shared<FakeTraining>(FakeTraining::Options{
        .pieces = kPieces, .on_piece = [&](std::int64_t piece) -> Result<void> {
          if (piece < fails_at) return {};
          if (piece > 1) may_fail.acquire();
          return Error{EngineErrc::kNotNumbers, "the loss"};
        }});
  };
  EXPECT_THROW(TrainingBeside(*pipeline, make()), boost::system::system_error);
  fails_at = kPieces + 1;
  TrainingBeside beside(*pipeline, make());
  beside.begin_load();
  may_fail.release();
  const auto ended = [&] {
    try {
      static_cast<void>(beside.end_load());
      return false;
    } catch (const boost::system::system_error& error) {
      return error.code() == EngineErrc::kNotNumbers;
    }
  };
  while (!ended()) std::this_thread::yield();
}

TEST(SyntheticTrainingTest, EachIterationHasAsManyPiecesAsTheOneThatWasMeasured) {
  const auto work = make_synthetic_training(tiny_model(), 16, 1).value();
  const IterationAlone alone = measure_iteration(*work).value();
  EXPECT_GT(alone.seconds, 0);
  FirstIterations three(work, 3);
  std::uint64_t pieces = 0;
  for (bool ended = false; !ended; ++pieces) {
    const TrainingPiece piece = three.run_piece().value();
    EXPECT_EQ(piece.ends_iteration, (pieces + 1) % alone.pieces == 0);
    ended = piece.ends_work;
  }
  EXPECT_EQ(pieces, 3 * alone.pieces);
  EXPECT_EQ(three.iterations_done(), three.iterations());
}

TEST(SyntheticTrainingTest, SequencesAreNoLongerThanTheContext) {
  EXPECT_FALSE(make_synthetic_training(tiny_model(), 100'000, 1).has_error());
}

TEST(EngineTrainingLoadTest, ALoadThatWaitsForItsTrainingIsServedBehindIt) {
  const auto work =
      std::make_shared<FirstIterations>(make_synthetic_training(tiny_model(), 16, 1).value(), 20);
  const Load load{{{0, 5, 5}, {0, 5, 5}}, 0};
  EngineRunOptions options;
  options.training = work;
  const EngineRun run =
      run_engine(tiny_model(), config_of(TrainingKind::kFinishFirst), load, 1, options).value();
  EXPECT_EQ(run.outcomes.size(), 2U);
  EXPECT_EQ(work->iterations_done(), 20);
}

TEST(EngineTrainingLoadTest, AModelWhoseTrainingIsOffIsAnErrorWithTheReason) {
  EngineRunOptions options;
  options.training = make_synthetic_training(tiny_model(), 16, 1).value();
  const auto run =
      run_engine(tiny_model(), config_of(TrainingKind::kOff), {{{0, 5, 5}}, 0}, 1, options);
  ASSERT_TRUE(run.has_error());
  EXPECT_NE(run.error().detail.find("training"), std::string::npos) << run.error().detail;
}

}  // namespace
}  // namespace weft::measure
