#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/load_progress.h"
#include "weft/model/open_model.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/step/optimizer.h"
#include "weft/train/tuning_job.h"

namespace weft {

/// Tokens of a micro-batch, where the model's context is not shorter. Longer micro-batches read the
/// weights less often, and take more memory for each layer's values.
inline constexpr std::int64_t kMicroBatchTokens = 2048;

/// A fine-tuning job as its user describes it.
struct TuningSetup {
  std::filesystem::path model;  ///< the base's folder, whose tokenizer the examples get
  std::filesystem::path data;
  std::string name;  ///< the job's name in its states (TuningJob)
  PairSettings pairs{};
  double dropout = 0;
  std::int64_t tokens = 0;  ///< in a micro-batch; 0: kMicroBatchTokens, or the model's context
  std::uint64_t seed = 0;   ///< for the examples' order
  bool shuffle = true;
  std::chrono::local_seconds now{};  ///< the chat template's time
  int threads = 0;                   ///< 0: all processors

  /// Makes the first pairs, instead of new ones of `pairs`; may be empty.
  std::function<Result<LowRankPairs>(const TrainingProgram& training)> first_pairs{};
  /// Called once the examples are known: sets the batch of the plan, and returns the optimizer's
  /// settings with the number of steps. Not empty.
  std::function<Result<OptimizerSettings>(const Examples& examples, BatchPlan& plan)> choose_steps;
};

/// Compiles the program that is trained, without its weights. kCannotTrain: the model is a GGUF
/// file, for which there is no adapter in PEFT's form; errors of make_training_program().
[[nodiscard]] Result<TrainingProgram> trainable_program(const OpenedModel& model);

/// Makes a job: compiles the program, makes the pairs, reads the examples and loads the weights, in
/// this order. Blocks. Errors of trainable_program(), make_pairs(), ExampleReader::read(),
/// check_settings() and TrainedModel::load(), and of the setup's functions. A stop of `progress`
/// is an exception, as throw_if_stopped() throws it.
[[nodiscard]] Result<TuningJob> make_tuning_job(const OpenedModel& model, const TuningSetup& setup,
                                                const LoadProgress& progress);

}  // namespace weft
