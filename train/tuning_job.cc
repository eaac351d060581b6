#include "weft/train/tuning_job.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/safetensors.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/train/data/tensor_file.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

// A step number has 24 bits in a float: two of them hold any job's.
constexpr std::int64_t kStepUnit = std::int64_t{1} << 20U;

Error bad_state(const std::filesystem::path& path, std::string_view why) {
  return {TrainErrc::kBadState, path.string().append(": ").append(why)};
}

/// The arrays of a pair that a state has, with the ends of their names.
template <class Pair, class Moments, class Visit>
void each_array(Pair& pair, Moments& moments, const Visit& visit) {
  visit(".a", pair.a);
  visit(".b", pair.b);
  visit(".a_first", moments.a_first);
  visit(".a_second", moments.a_second);
  visit(".b_first", moments.b_first);
  visit(".b_second", moments.b_second);
}

/// The name of the tensor that has the number of steps: a state of another job lacks it.
std::string steps_name(const std::string& job) { return "steps of " + job; }

/// Fills `numbers` from a tensor of as many.
Result<void> read_into(const CheckpointFile& file, const std::string& name,
                       std::span<float> numbers) {
  const auto found = std::ranges::find(file.tensors, name, &CheckpointTensor::name);
  if (found == file.tensors.end() || found->dtype != DType::kF32 ||
      found->size != numbers.size_bytes()) {
    return Error{TrainErrc::kBadState, "the state of another job: it has no " + name};
  }
  return read_values(*found, 0, 1, numbers);
}

}  // namespace

TuningJob::TuningJob(TrainedModel model, Examples examples, const BatchPlan& plan,
                     const OptimizerSettings& optimizer, std::string name)
    : model_(std::make_unique<TrainedModel>(std::move(model))),
      examples_(std::move(examples)),
      plan_(plan),
      optimizer_(optimizer, model_->pairs()),
      gradients_(std::make_unique<GradientStep>(*model_)),
      name_(std::move(name)) {}

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
  for (const MicroBatch& batch : batches_)
    report_.tokens += static_cast<std::int64_t>(batch.ids.size());
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
  const std::int64_t units = steps_done() / kStepUnit;
  const std::vector<float> steps = {static_cast<float>(units),
                                    static_cast<float>(steps_done() % kStepUnit)};
  std::vector<NamedNumbers> tensors = {{steps_name(name_), {2}, steps}};
  for (std::size_t i = 0; i < pairs().pairs.size(); ++i) {
    const LowRankPair& pair = pairs().pairs[i];
    each_array(pair, optimizer_.moments()[i],
               [&](const char* kind, const std::vector<float>& numbers) {
                 tensors.push_back(
                     {pair.tensor + kind, {static_cast<std::int64_t>(numbers.size())}, numbers});
               });
  }
  std::filesystem::path fresh = path;
  fresh += ".new";
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);  // what a killed process left
  if (auto written = write_tensor_file(fresh, tensors); !written) return written;
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  if (error) return Error{FileErrc::kCannotWrite, path.string() + ": " + error.message()};
  return {};
}

Result<void> TuningJob::restore(const std::filesystem::path& path) {
  auto source = open_file_source(path);
  if (!source) return source.error();
  const auto file = read_safetensors(*std::move(source));
  if (!file) return file.error();
  std::vector<float> steps(2);
  if (!read_into(*file, steps_name(name_), steps))
    return bad_state(path, "is of another model, other data or other settings");
  LowRankPairs& pairs = model_->pairs();
  std::vector<PairMoments> moments = optimizer_.moments();
  Result<void> result;
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
    LowRankPair& pair = pairs.pairs[i];
    each_array(pair, moments[i], [&](const char* kind, std::vector<float>& numbers) {
      if (result) result = read_into(*file, pair.tensor + kind, numbers);
    });
  }
  if (!result) return error_in(path.string(), result.error());
  forget_step();
  optimizer_.restore(
      static_cast<std::int64_t>(steps[0]) * kStepUnit + static_cast<std::int64_t>(steps[1]),
      std::move(moments));
  return {};
}

}  // namespace weft
