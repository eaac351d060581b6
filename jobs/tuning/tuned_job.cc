#include "weft/jobs/tuning/tuned_job.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/gpu/load_progress.h"
#include "weft/jobs/jobs_error.h"
#include "weft/model/open_model.h"
#include "weft/train/data/adapter_writer.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/step/optimizer.h"
#include "weft/train/train_error.h"
#include "weft/train/tuning_job.h"
#include "weft/train/tuning_setup.h"
#include "weft/train/tuning_work.h"

namespace weft {
namespace {

/// A TuningJob that tells of its steps.
class TunedJob final : public JobWork {
 public:
  explicit TunedJob(TuningJob job) : work_(std::move(job)) {}

  [[nodiscard]] std::int64_t iterations() const override { return work_.iterations(); }
  [[nodiscard]] std::int64_t iterations_done() const override { return work_.iterations_done(); }
  [[nodiscard]] Result<TrainingPiece> run_piece() override {
    auto piece = work_.run_piece();
    if (piece && piece->ends_iteration) note(work_.last_step(), [this] { return state(); });
    return piece;
  }
  void abandon() override { work_.abandon(); }

  [[nodiscard]] Result<void> save(const std::filesystem::path& path) override {
    return work_.job().save(path);
  }
  [[nodiscard]] Result<void> restore(const std::filesystem::path& path) override {
    return work_.job().restore(path);
  }
  [[nodiscard]] Result<void> write_adapter(const std::filesystem::path& folder,
                                           const std::string& base) override {
    return write_peft_adapter(folder, work_.job().pairs(), base);
  }

 private:
  [[nodiscard]] StateToSave state() {
    auto copy = std::make_shared<const JobSnapshot>(work_.job().snapshot());
    return {iterations_done(), [copy = std::move(copy)](const std::filesystem::path& path) {
              return copy->save(path);
            }};
  }

  TuningWork work_;
};

JobPlan plan_of(const JobSettings& job, const Examples& examples) {
  JobPlan plan;
  plan.examples = static_cast<std::int64_t>(examples.all.size());
  plan.epochs = job.epochs.value_or(kAutoEpochs);
  plan.batch = job.batch.value_or(std::min(kAutoBatch, plan.examples));
  plan.rate_multiplier = job.rate_multiplier.value_or(1);
  plan.cut = examples.cut - examples.cut_out;
  plan.left_out = examples.cut_out + examples.without_weight;
  plan.learnt = how_learnt(examples);
  return plan;
}

/// Describes a job as train/ wants it; `plan` gets the numbers that follow from the data.
Result<TuningSetup> setup_of(const Config& config, const JobRecord& job,
                             const std::filesystem::path& data, JobPlan& plan) {
  const JobSettings& settings = job.settings;
  const auto pairs = pair_settings(settings.rank, settings.alpha, settings.targets, settings.seed);
  if (!pairs) return pairs.error();
  TuningSetup setup;
  setup.model = config.model;
  setup.data = data;
  setup.pairs = *pairs;
  setup.dropout = settings.dropout;
  setup.seed = settings.seed;
  setup.now = std::chrono::local_seconds(std::chrono::seconds(job.created));
  setup.threads = config.threads;
  setup.choose_steps = [&settings, &plan](const Examples& examples,
                                          BatchPlan& batches) -> Result<OptimizerSettings> {
    plan = plan_of(settings, examples);
    batches.batch = static_cast<std::size_t>(plan.batch);
    OptimizerSettings optimizer;
    optimizer.rate = kStandardRate * plan.rate_multiplier;
    optimizer.steps = plan.epochs * batches.steps_of_epoch();
    if (optimizer.steps > kMostJobSteps) {
      return Error{JobsErrc::kBadJob, "n_epochs: gives " + std::to_string(optimizer.steps) +
                                          " steps, and a job has at most " +
                                          std::to_string(kMostJobSteps)};
    }
    return optimizer;
  };
  return setup;
}

Result<OpenedModel> open_base(const Config& config) {
  return open_model(config.model, config.spec, config.weights, config.adapter);
}

/// Turns a refusal of train/ into an error that names the request's field.
Error refusal(std::string_view field, const Error& why) {
  const bool is_own = why.code == TrainErrc::kCannotTrain || why.code == TrainErrc::kBadSetting;
  if (!is_own) return why;
  return {JobsErrc::kBadJob, std::string(field) + ": cannot be trained: " + why.detail};
}

}  // namespace

Result<void> check_tuning(const Config& config, const JobSettings& settings) {
  const auto model = open_base(config);
  if (!model) return model.error();
  const auto training = trainable_program(*model);
  if (!training) return refusal("model", training.error());
  const auto pairs = pair_settings(settings.rank, settings.alpha, settings.targets, settings.seed);
  if (!pairs) return refusal("lora_target_modules", pairs.error());
  if (const auto checked = check_pairs(*training, *pairs); !checked)
    return refusal("lora_target_modules", checked.error());
  return {};
}

Result<PreparedJob> prepare_tuning(const Config& config, const JobRecord& job,
                                   const std::filesystem::path& data, const std::stop_token& stop) {
  const auto model = open_base(config);
  if (!model) return model.error();
  JobPlan plan;
  auto setup = setup_of(config, job, data, plan);
  if (!setup) return setup.error();
  setup->name = model->program->family;
  LoadProgress progress;
  progress.stop = stop;
  auto made = make_tuning_job(*model, *setup, progress);
  if (!made) return made.error();
  return PreparedJob{std::make_shared<TunedJob>(*std::move(made)), plan};
}

}  // namespace weft
