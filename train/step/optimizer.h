#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/train/program/low_rank_pairs.h"

namespace weft {

/// The most steps of a job. A state's two float32 hold them, and no sum of them overflows.
inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 40U;

enum class RateSchedule : std::uint8_t { kConstant, kCosine };

/// The schedule called "constant" or "cosine". kBadSetting.
[[nodiscard]] Result<RateSchedule> rate_schedule(std::string_view name);

/// The settings of AdamW (Loshchilov and Hutter, arXiv 1711.05101) and of its learning rate, as
/// PyTorch and transformers have them.
struct OptimizerSettings {
  double rate = 2e-4;  ///< the greatest
  RateSchedule schedule = RateSchedule::kCosine;
  std::int64_t warmup = 0;  ///< steps in which the rate rises from 0
  std::int64_t steps = 1;   ///< of the job: where the cosine ends
  double clip = 1;          ///< greatest norm of all gradients together; 0: any
  double decay = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

/// kBadSetting naming a setting that is negative, infinite or NaN, or no step at all.
[[nodiscard]] Result<void> check_settings(const OptimizerSettings& settings);

/// The learning rate of a step, from 0: rate * step / warmup first; behind that `rate`, or
/// rate * (1 + cos(pi * progress)) / 2.
[[nodiscard]] double rate_of(const OptimizerSettings& settings, std::int64_t step);

/// The moments of a number's gradient, for each number of a pair.
struct PairMoments {
  std::vector<float> a_first, a_second, b_first, b_second;
};

/// Changes pairs by their gradients. Owner only; arithmetic in float32, one number by itself, so
/// bits depend on nothing else.
class Optimizer {
 public:
  Optimizer(const OptimizerSettings& settings, const LowRankPairs& pairs);

  /// Clips the gradients, changes the pairs, and sets the gradients to zero. Returns the norm that
  /// the gradients had. kNotFinite, and pairs and moments stay as they are, where a number would
  /// be infinite or NaN.
  [[nodiscard]] Result<double> step(LowRankPairs& pairs);

  [[nodiscard]] const OptimizerSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::int64_t steps_done() const noexcept { return done_; }
  [[nodiscard]] const std::vector<PairMoments>& moments() const noexcept { return moments_; }
  /// Goes on where another optimizer was; the moments' sizes are those of the pairs.
  void restore(std::int64_t steps_done, std::vector<PairMoments> moments);

 private:
  OptimizerSettings settings_;
  std::int64_t done_ = 0;
  std::vector<PairMoments> moments_;  ///< by pair
};

}  // namespace weft
