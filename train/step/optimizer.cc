#include "weft/train/step/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

double squares_of(const std::vector<float>& numbers) {
  double sum = 0;
  for (const float number : numbers) sum += double{number} * number;
  return sum;
}

double norm_of(const LowRankPairs& pairs) {
  double sum = 0;
  for (const LowRankPair& pair : pairs.pairs)
    sum += squares_of(pair.a_gradient) + squares_of(pair.b_gradient);
  return std::sqrt(sum);
}

/// What one step does to every number.
struct StepFactors {
  float gradient = 1;  ///< of clipping
  float keep = 1;      ///< of the number, for decay
  float beta1 = 0, beta2 = 0;
  float rate = 0;          ///< over 1 - beta1^t
  float second_scale = 1;  ///< sqrt(1 - beta2^t)
  float epsilon = 0;
};

void change(const StepFactors& factors, std::vector<float>& gradients, std::vector<float>& first,
            std::vector<float>& second, std::vector<float>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float gradient = gradients[i] * factors.gradient;
    first[i] += (gradient - first[i]) * (1 - factors.beta1);
    second[i] = second[i] * factors.beta2 + (1 - factors.beta2) * gradient * gradient;
    const float size = std::sqrt(second[i]) / factors.second_scale + factors.epsilon;
    numbers[i] = numbers[i] * factors.keep - factors.rate * (first[i] / size);
    gradients[i] = 0;
  }
}

}  // namespace

Result<RateSchedule> rate_schedule(std::string_view name) {
  if (name == "constant") return RateSchedule::kConstant;
  if (name == "cosine") return RateSchedule::kCosine;
  return Error{TrainErrc::kBadSetting,
               "schedule: \"" + std::string(name) + "\" is neither constant nor cosine"};
}

double rate_of(const OptimizerSettings& settings, std::int64_t step) {
  if (step < settings.warmup)
    return settings.rate * static_cast<double>(step) / static_cast<double>(settings.warmup);
  if (settings.schedule == RateSchedule::kConstant) return settings.rate;
  const auto left =
      static_cast<double>(std::max<std::int64_t>(1, settings.steps - settings.warmup));
  const double progress = std::min(1.0, static_cast<double>(step - settings.warmup) / left);
  return settings.rate * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

Optimizer::Optimizer(const OptimizerSettings& settings, const LowRankPairs& pairs)
    : settings_(settings) {
  for (const LowRankPair& pair : pairs.pairs) {
    const std::vector<float> a(pair.a.size());
    const std::vector<float> b(pair.b.size());
    moments_.push_back({a, a, b, b});
  }
}

double Optimizer::step(LowRankPairs& pairs) {
  const double norm = norm_of(pairs);
  const double rate = rate_of(settings_, done_);
  ++done_;
  const auto count = static_cast<double>(done_);
  StepFactors factors;
  if (settings_.clip > 0) {
    factors.gradient = static_cast<float>(std::min(1.0, settings_.clip / (norm + 1e-6)));
  }
  factors.keep = static_cast<float>(1 - rate * settings_.decay);
  factors.beta1 = static_cast<float>(settings_.beta1);
  factors.beta2 = static_cast<float>(settings_.beta2);
  factors.rate = static_cast<float>(rate / (1 - std::pow(settings_.beta1, count)));
  factors.second_scale = static_cast<float>(std::sqrt(1 - std::pow(settings_.beta2, count)));
  factors.epsilon = static_cast<float>(settings_.epsilon);
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
    LowRankPair& pair = pairs.pairs[i];
    PairMoments& moments = moments_[i];
    change(factors, pair.a_gradient, moments.a_first, moments.a_second, pair.a);
    change(factors, pair.b_gradient, moments.b_first, moments.b_second, pair.b);
  }
  return norm;
}

void Optimizer::restore(std::int64_t steps_done, std::vector<PairMoments> moments) {
  if (moments.size() != moments_.size()) internal_error("an optimizer of other pairs");
  done_ = steps_done;
  moments_ = std::move(moments);
}

}  // namespace weft
