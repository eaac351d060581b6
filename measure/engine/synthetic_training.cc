#include "weft/measure/engine/synthetic_training.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "weft/core/token.h"
#include "weft/measure/report/quantile.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/random_numbers.h"
#include "weft/train/step/optimizer.h"
#include "weft/train/step/trained_model.h"
#include "weft/train/tuning_job.h"
#include "weft/train/tuning_work.h"

namespace weft::measure {
namespace {

constexpr std::size_t kExamples = 64;
constexpr std::int64_t kIterations = 1'000'000'000;  // more than any experiment has time for
constexpr std::int64_t kRank = 16;
constexpr int kTimedIterations = 3;

PairSettings all_products() {
  PairSettings settings{.rank = kRank, .alpha = 2.0 * kRank, .roles = {}, .seed = 1};
  for (const TargetRole role :
       {TargetRole::kQuery, TargetRole::kKey, TargetRole::kValue, TargetRole::kOutput,
        TargetRole::kGate, TargetRole::kUp, TargetRole::kDown}) {
    settings.roles.insert(role);
  }
  return settings;
}

Examples drawn_examples(std::int64_t vocabulary, std::int64_t tokens) {
  RandomNumbers random(1);
  Examples examples;
  examples.all.resize(kExamples);
  for (Example& example : examples.all) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      example.ids.push_back(
          static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocabulary))));
      example.weights.push_back(t == 0 ? 0.0F : 1.0F);
    }
  }
  return examples;
}

}  // namespace

Result<std::shared_ptr<TrainingWork>> make_synthetic_training(const MeasuredModel& model,
                                                              std::int64_t tokens, int threads) {
  const OpenedModel& opened = model.opened;
  auto training = make_training_program(*opened.architecture, *opened.checkpoint);
  if (!training) return training.error();
  auto pairs = make_pairs(*training, *opened.architecture, all_products());
  if (!pairs) return pairs.error();
  const std::int64_t length = std::min(tokens, opened.program->context);
  auto trained = TrainedModel::load(opened, *std::move(training), *std::move(pairs),
                                    {.threads = threads, .tokens = length});
  if (!trained) return trained.error();
  OptimizerSettings optimizer;
  optimizer.steps = kIterations;
  const BatchPlan plan{.examples = kExamples,
                       .batch = 1,
                       .tokens = static_cast<std::size_t>(length),
                       .seed = 1,
                       .shuffle = true};
  return std::make_shared<TuningWork>(TuningJob(*std::move(trained),
                                                drawn_examples(opened.program->vocabulary, length),
                                                plan, optimizer, opened.program->family));
}

Result<IterationAlone> measure_iteration(TrainingWork& work) {
  IterationAlone alone;
  std::vector<double> seconds;
  for (int i = 0; i <= kTimedIterations; ++i) {
    const auto began = std::chrono::steady_clock::now();
    alone.pieces = 0;
    for (bool ended = false; !ended; ++alone.pieces) {
      const Result<TrainingPiece> piece = work.run_piece();
      if (!piece) return piece.error();
      ended = piece->ends_iteration;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (i > 0) seconds.push_back(took.count());
  }
  alone.seconds = median(seconds);
  return alone;
}

Result<TrainingPiece> FirstIterations::run_piece() {
  Result<TrainingPiece> piece = work_->run_piece();
  if (piece && piece->ends_iteration) {
    ++done_;
    piece->ends_work = piece->ends_work || done_ == iterations_;
  }
  return piece;
}

}  // namespace weft::measure
