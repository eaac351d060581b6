#include "weft/jobs/tuning/tuned_job.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/load_progress.h"
#include "weft/jobs/jobs_error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/open_model.h"
#include "weft/train/data/adapter_writer.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/step/optimizer.h"
#include "weft/train/step/trained_model.h"
#include "weft/train/tuning_job.h"

namespace weft {
namespace {

/// Tokens of a micro-batch, as of `weft tune-lora`.
constexpr std::int64_t kJobTokens = 2048;
constexpr const char* kAllTargets[] = {"q", "k", "v", "o", "gate", "up", "down"};

/// A TuningJob that tells of its steps.
class TunedJob final : public JobWork {
 public:
  explicit TunedJob(TuningJob job) : job_(std::move(job)) {}

  [[nodiscard]] std::int64_t iterations() const override { return job_.steps(); }
  [[nodiscard]] std::int64_t iterations_done() const override { return job_.steps_done(); }
  [[nodiscard]] Result<TrainingPiece> run_piece() override {
    const Result<std::optional<StepReport>> report = job_.run_piece();
    if (!report) return report.error();
    TrainingPiece piece;
    if (!*report) return piece;
    piece.ends_iteration = true;
    piece.ends_work = job_.is_done();
    piece.loss = (*report)->loss;
    note(**report, [this] { return state(); });
    return piece;
  }
  void abandon() override { job_.abandon_micro_batch(); }

  [[nodiscard]] Result<void> save(const std::filesystem::path& path) override {
    return job_.save(path);
  }
  [[nodiscard]] Result<void> restore(const std::filesystem::path& path) override {
    return job_.restore(path);
  }
  [[nodiscard]] Result<void> write_adapter(const std::filesystem::path& folder,
                                           const std::string& base) override {
    return write_peft_adapter(folder, job_.pairs(), base);
  }

 private:
  [[nodiscard]] StateToSave state() const {
    auto copy = std::make_shared<const JobSnapshot>(job_.snapshot());
    return {job_.steps_done(), [copy = std::move(copy)](const std::filesystem::path& path) {
              return copy->save(path);
            }};
  }

  TuningJob job_;
};

Result<PairSettings> pair_settings(const JobSettings& job) {
  PairSettings settings;
  settings.rank = job.rank;
  settings.alpha = job.alpha > 0 ? job.alpha : 2.0 * static_cast<double>(job.rank);
  settings.seed = job.seed;
  std::vector<std::string> names = job.targets;
  if (names.empty()) names.assign(std::begin(kAllTargets), std::end(kAllTargets));
  for (const std::string& name : names) {
    const auto role = target_role(name);
    if (!role) return role.error();
    settings.roles.insert(*role);
  }
  return settings;
}

Result<Examples> read_examples(const Config& config, const OpenedModel& model, const JobRecord& job,
                               const std::filesystem::path& data, std::int64_t tokens) {
  const auto tokenizer = load_tokenizer(config.model);
  if (!tokenizer) return tokenizer.error();
  ExampleReader::Options options;
  options.tokens = static_cast<std::size_t>(tokens);
  options.vocabulary = model.program->vocabulary;
  options.end_tokens.assign(tokenizer->end_tokens().begin(), tokenizer->end_tokens().end());
  for (const std::int64_t id : model.program->end_tokens)
    options.end_tokens.push_back(static_cast<TokenId>(id));
  options.now = std::chrono::local_seconds(std::chrono::seconds(job.created));
  return ExampleReader(*tokenizer, std::move(options)).read(data);
}

JobPlan plan_of(const JobSettings& job, const Examples& examples) {
  JobPlan plan;
  plan.examples = static_cast<std::int64_t>(examples.all.size());
  plan.epochs = job.epochs.value_or(kAutoEpochs);
  plan.batch = job.batch.value_or(std::min(kAutoBatch, plan.examples));
  plan.rate_multiplier = job.rate_multiplier.value_or(1);
  plan.cut = examples.cut - examples.cut_out;
  plan.left_out = examples.cut_out + examples.without_weight;
  return plan;
}

}  // namespace

Result<PreparedJob> prepare_tuning(const Config& config, const JobRecord& job,
                                   const std::filesystem::path& data, const std::stop_token& stop) {
  const auto model = open_model(config.model, config.spec, config.weights, config.adapter);
  if (!model) return model.error();
  if (model->checkpoint->format() == CheckpointFormat::kGguf) {
    return Error{JobsErrc::kBadJob,
                 "model: is a GGUF file, and adapters are for models in Hugging Face layout"};
  }
  auto training = make_training_program(*model->architecture, *model->checkpoint);
  if (!training) return training.error();
  const auto settings = pair_settings(job.settings);
  if (!settings) return settings.error();
  auto pairs = make_pairs(*training, *model->architecture, *settings);
  if (!pairs) return pairs.error();
  pairs->dropout = job.settings.dropout;
  const std::int64_t tokens = std::min(kJobTokens, model->program->context);
  auto examples = read_examples(config, *model, job, data, tokens);
  if (!examples) return examples.error();
  throw_if_stopped(stop);
  const JobPlan plan = plan_of(job.settings, *examples);
  const BatchPlan batches{examples->all.size(), static_cast<std::size_t>(plan.batch),
                          static_cast<std::size_t>(tokens), job.settings.seed, true};
  OptimizerSettings optimizer;
  optimizer.rate = kStandardRate * plan.rate_multiplier;
  optimizer.steps = plan.epochs * batches.steps_of_epoch();
  if (auto checked = check_settings(optimizer); !checked) return checked.error();
  LoadProgress progress;
  progress.stop = stop;
  auto trained = TrainedModel::load(*model, *std::move(training), *std::move(pairs),
                                    {config.threads, tokens}, progress);
  if (!trained) return trained.error();
  return PreparedJob{
      std::make_shared<TunedJob>(TuningJob(*std::move(trained), *std::move(examples), batches,
                                           optimizer, model->program->family)),
      plan};
}

}  // namespace weft
