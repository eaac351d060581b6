#include "weft/train/tuning_job.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/train/data/content_hash.h"
#include "weft/train/data/job_state.h"
#include "weft/train/random_numbers.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

/// The name of a job: its caller's, and a hash of all that its bits follow from.
std::string full_name(const std::string& name, const TrainedModel& model, const Examples& examples,
                      const BatchPlan& plan, const OptimizerSettings& optimizer) {
  std::ostringstream text;
  text << name << std::hex;
  for (const std::uint64_t hash : {model.base_hash(), hash_of(model.pairs()), hash_of(examples),
                                   hash_of(plan), hash_of(optimizer)}) {
    text << ' ' << hash;
  }
  return text.str();
}

}  // namespace

TuningJob::TuningJob(TrainedModel model, Examples examples, const BatchPlan& plan,
                     const OptimizerSettings& optimizer, const std::string& name)
    : model_(std::make_unique<TrainedModel>(std::move(model))),
      examples_(std::move(examples)),
      plan_(plan),
      optimizer_(optimizer, model_->pairs()),
      gradients_(std::make_unique<GradientStep>(*model_)),
      name_(full_name(name, *model_, examples_, plan, optimizer)) {}

Result<std::optional<StepReport>> TuningJob::run_piece() {
  if (is_done()) internal_error("a training job that is done");
  if (!in_step_) begin_step();
  if (batch_ < batches_.size()) {
    if (gradients_->run_piece()) {
      report_.loss += gradients_->sum();
      ++batch_;
      begin_micro_batch();
    }
    return std::optional<StepReport>();
  }
  auto report = finish_step();
  if (report) return std::optional(*report);
  forget_step();
  return error_in("step " + std::to_string(steps_done() + 1), std::move(report).error());
}

Result<StepReport> TuningJob::step() {
  while (true) {
    const auto report = run_piece();
    if (!report) return report.error();
    if (*report) return **report;
  }
}

void TuningJob::abandon_micro_batch() { gradients_->abandon(); }

void TuningJob::begin_step() {
  report_ = {};
  report_.rate = rate_of(optimizer_.settings(), steps_done());
  batches_ = plan_.pack(examples_.all, plan_.examples_of(steps_done()));
  weight_ = weight_of(batches_);
  const auto step = static_cast<std::uint64_t>(steps_done());
  const std::uint64_t key = RandomNumbers(RandomNumbers(~plan_.seed).next() ^ step).next();
  for (MicroBatch& batch : batches_) {
    batch.dropout_key = key;
    batch.first = report_.tokens;
    report_.tokens += static_cast<std::int64_t>(batch.ids.size());
  }
  batch_ = 0;
  in_step_ = true;
  begin_micro_batch();
}

void TuningJob::begin_micro_batch() {
  if (batch_ < batches_.size()) gradients_->begin(batches_[batch_], 1 / weight_);
}

Result<StepReport> TuningJob::finish_step() {
  report_.loss /= weight_;
  if (!std::isfinite(report_.loss)) return Error{TrainErrc::kNotFinite, "the loss is not finite"};
  const auto norm = optimizer_.step(model_->pairs());
  if (!norm) return norm.error();
  report_.norm = *norm;
  report_.step = steps_done();
  in_step_ = false;
  return report_;
}

void TuningJob::forget_step() {
  gradients_->forget();
  in_step_ = false;
  for (LowRankPair& pair : model_->pairs().pairs) {
    std::ranges::fill(pair.a_gradient, 0.0F);
    std::ranges::fill(pair.b_gradient, 0.0F);
  }
}

Result<void> TuningJob::save(const std::filesystem::path& path) const {
  return write_state(path, name_, steps_done(), pairs().pairs, optimizer_.moments());
}

JobSnapshot TuningJob::snapshot() const {
  JobSnapshot snapshot{name_, {steps_done(), {}, optimizer_.moments()}};
  for (const LowRankPair& pair : pairs().pairs) {
    LowRankPair& copy = snapshot.state.pairs.emplace_back();
    copy.tensor = pair.tensor;
    copy.a = pair.a;
    copy.b = pair.b;
  }
  return snapshot;
}

Result<void> TuningJob::restore(const std::filesystem::path& path) {
  auto state = read_state(path, name_, steps(), {0, pairs().pairs, optimizer_.moments()});
  if (!state) return state.error();
  model_->pairs().pairs = std::move(state->pairs);
  optimizer_.restore(state->steps_done, std::move(state->moments));
  forget_step();
  return {};
}

}  // namespace weft
