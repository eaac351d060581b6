#include "weft/train/step/optimizer.h"

#include <algorithm>
#include <array>
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

/// A number with its moments.
struct Trained {
  float first = 0, second = 0, number = 0;

  [[nodiscard]] bool is_finite() const {
    return std::isfinite(first) && std::isfinite(second) && std::isfinite(number);
  }
};

Trained next(const StepFactors& factors, float gradient, Trained last) {
  gradient *= factors.gradient;
  last.first += (gradient - last.first) * (1 - factors.beta1);
  last.second = last.second * factors.beta2 + (1 - factors.beta2) * gradient * gradient;
  const float size = std::sqrt(last.second) / factors.second_scale + factors.epsilon;
  last.number = last.number * factors.keep - factors.rate * (last.first / size);
  return last;
}

/// Whether all numbers stay finite.
bool can_change(const StepFactors& factors, const std::vector<float>& gradients,
                const std::vector<float>& first, const std::vector<float>& second,
                const std::vector<float>& numbers) {
  bool all = true;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    all = next(factors, gradients[i], {first[i], second[i], numbers[i]}).is_finite() && all;
  }
  return all;
}

void change(const StepFactors& factors, std::vector<float>& gradients, std::vector<float>& first,
            std::vector<float>& second, std::vector<float>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Trained trained = next(factors, gradients[i], {first[i], second[i], numbers[i]});
    first[i] = trained.first;
    second[i] = trained.second;
    numbers[i] = trained.number;
    gradients[i] = 0;
  }
}

StepFactors factors_of(const OptimizerSettings& settings, std::int64_t done, double norm) {
  const double rate = rate_of(settings, done);
  const auto count = static_cast<double>(done + 1);
  StepFactors factors;
  if (settings.clip > 0) {
    factors.gradient = static_cast<float>(std::min(1.0, settings.clip / (norm + 1e-6)));
  }
  factors.keep = static_cast<float>(1 - rate * settings.decay);
  factors.beta1 = static_cast<float>(settings.beta1);
  factors.beta2 = static_cast<float>(settings.beta2);
  factors.rate = static_cast<float>(rate / (1 - std::pow(settings.beta1, count)));
  factors.second_scale = static_cast<float>(std::sqrt(1 - std::pow(settings.beta2, count)));
  factors.epsilon = static_cast<float>(settings.epsilon);
  return factors;
}

}  // namespace

Result<RateSchedule> rate_schedule(std::string_view name) {
  if (name == "constant") return RateSchedule::kConstant;
  if (name == "cosine") return RateSchedule::kCosine;
  return Error{TrainErrc::kBadSetting,
               "schedule: \"" + std::string(name) + "\" is neither constant nor cosine"};
}

Result<void> check_settings(const OptimizerSettings& settings) {
  const auto bad_setting = [](std::string_view name, std::string_view why) {
    return Error{TrainErrc::kBadSetting, std::string(name).append(": ").append(why)};
  };
  // Twice the rate must be a float32 too.
  constexpr double kMost = 1e30;
  const std::array<std::pair<std::string_view, double>, 3> numbers = {
      {{"rate", settings.rate}, {"clip", settings.clip}, {"decay", settings.decay}}};
  // NOLINTBEGIN(readability-simplify-boolean-expr): so that NaN is refused, too
  for (const auto& [name, number] : numbers) {
    if (!(number >= 0 && number <= kMost)) return bad_setting(name, "must be 0 .. 1e30");
  }
  if (settings.rate == 0) return bad_setting("rate", "must be more than 0");
  for (const double beta : {settings.beta1, settings.beta2}) {
    if (!(beta >= 0 && beta < 1)) return bad_setting("beta", "must be 0 or more, and less than 1");
  }
  if (!(settings.epsilon > 0 && settings.epsilon <= kMost))
    return bad_setting("epsilon", "must be more than 0");
  // NOLINTEND(readability-simplify-boolean-expr)
  if (settings.steps < 1 || settings.steps > kMostSteps)
    return bad_setting("steps", "must be 1 .. 2^40");
  if (settings.warmup < 0 || settings.warmup > kMostSteps)
    return bad_setting("warmup", "must be 0 .. 2^40");
  return {};
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

Result<double> Optimizer::step(LowRankPairs& pairs) {
  const double norm = norm_of(pairs);
  if (!std::isfinite(norm)) return Error{TrainErrc::kNotFinite, "the gradients are not finite"};
  const StepFactors factors = factors_of(settings_, done_, norm);
  bool can = true;
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
    const LowRankPair& pair = pairs.pairs[i];
    const PairMoments& moments = moments_[i];
    can = can && can_change(factors, pair.a_gradient, moments.a_first, moments.a_second, pair.a) &&
          can_change(factors, pair.b_gradient, moments.b_first, moments.b_second, pair.b);
  }
  if (!can) return Error{TrainErrc::kNotFinite, "the pairs would not be finite"};
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
    LowRankPair& pair = pairs.pairs[i];
    PairMoments& moments = moments_[i];
    change(factors, pair.a_gradient, moments.a_first, moments.a_second, pair.a);
    change(factors, pair.b_gradient, moments.b_first, moments.b_second, pair.b);
  }
  ++done_;
  return norm;
}

void Optimizer::restore(std::int64_t steps_done, std::vector<PairMoments> moments) {
  if (moments.size() != moments_.size()) internal_error("an optimizer of other pairs");
  done_ = steps_done;
  moments_ = std::move(moments);
}

}  // namespace weft
