#include "weft/schedule/step/step_time_model.h"

#include <algorithm>
#include <bitset>
#include <cmath>

namespace weft {
namespace {

/// Scale the features of usual steps to about 1, so that none is lost to rounding.
constexpr double kScaleOfDecode = 1.0 / 64;
constexpr double kScaleOfPrefill = 1.0 / 256;
constexpr double kScaleOfContext = 1.0 / 16384;
constexpr double kScaleOfGuesses = 1.0 / 8;

/// What a step keeps of its weight when a new one comes: a memory of 1 / (1 - 0.99) = 100 steps.
/// With noise of 10 % each of the coefficients makes predictions waver by about 10 % / sqrt(2 *
/// 100).
constexpr double kKeep = 0.99;
/// The same when all errors have one sign: a memory of ten steps.
constexpr double kKeepWhenLeaning = 0.90;
/// The lean is the mean sign of about ten errors. Noise alone gives it a standard deviation of
/// sqrt(0.1 / 1.9) = 0.23. Forgetting speeds up from two standard deviations on, and is fastest
/// where almost all errors have one sign.
constexpr double kLeanOfOneError = 0.1;
constexpr double kLeastLean = 0.5;
constexpr double kFullLean = 0.9;

/// The information about each coefficient that is never forgotten, in steps: enough for sums in
/// doubles, and negligible compared with one step.
constexpr double kLeastInformation = 1e-3;
/// The least pivot, as a fraction of its diagonal element, against rounding.
constexpr double kLeastPivot = 1e-12;

/// The initial usual error, and the least: below 1 % every step would be an outlier on a quiet
/// machine.
constexpr double kFirstError = 0.3;
constexpr double kLeastError = 0.01;
/// The usual error follows the upper quartile of errors: a greater error raises it by this factor,
/// a smaller error lowers it by the cube root, which balances if one in four is greater.
constexpr double kErrorGrowth = 1.3;
constexpr double kErrorShrink = 0.91626;
/// Errors are clipped at this many usual errors: 2.9 standard deviations of normal noise.
constexpr double kMostUsualErrors = 2.5;

/// Predictions count as at least this fraction of the measured time, so that a prediction of 0 has
/// a scale as well.
constexpr double kLeastPredictedPart = 0.25;

template <std::size_t kSize>
double dot(const std::array<double, kSize>& a, const std::array<double, kSize>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kSize; ++i) sum += a[i] * b[i];
  return sum;
}

/// Solves matrix * x = right by elimination. The matrix is symmetric and, up to rounding, positive
/// definite, so its diagonal serves as pivots.
template <std::size_t kSize>
std::array<double, kSize> solve(std::array<std::array<double, kSize>, kSize> matrix,
                                std::array<double, kSize> right) {
  const auto diagonal = matrix;
  for (std::size_t pivot = 0; pivot < kSize; ++pivot) {
    double& divisor = matrix[pivot][pivot];
    divisor = std::max(divisor, kLeastPivot * diagonal[pivot][pivot]);
    for (std::size_t row = pivot + 1; row < kSize; ++row) {
      const double factor = matrix[pivot][row] / divisor;
      for (std::size_t column = row; column < kSize; ++column) {
        matrix[row][column] -= factor * matrix[pivot][column];
      }
      right[row] -= factor * right[pivot];
    }
  }
  for (std::size_t row = kSize; row-- > 0;) {
    for (std::size_t column = row + 1; column < kSize; ++column) {
      right[row] -= matrix[row][column] * right[column];
    }
    right[row] /= matrix[row][row];
  }
  return right;
}

}  // namespace

StepTimeModel::Vector StepTimeModel::features_of(const StepShape& shape) {
  return {1, kScaleOfDecode * shape.decode_tokens, kScaleOfPrefill * shape.prefill_tokens,
          kScaleOfContext * static_cast<double>(shape.context_tokens),
          kScaleOfGuesses * shape.guess_tokens};
}

double StepTimeModel::nanoseconds(const StepShape& shape) const {
  return dot(coefficients_, features_of(shape));
}

void StepTimeModel::learn(const StepShape& shape, Duration took) {
  if (shape.prefill_tokens > 0) {
    newest_each_ =
        static_cast<double>(std::max(took, Duration::zero()).count()) / shape.prefill_tokens;
    most_prefill_ = std::max(most_prefill_, shape.prefill_tokens);
  }
  if (took <= Duration::zero()) return;
  const auto measured = static_cast<double>(took.count());
  if (observations_ == 0) {
    unit_ = measured;
    usual_error_ = kFirstError;
    for (std::size_t i = 0; i < kFeatures; ++i) information_[i][i] = kLeastInformation;
  }
  const double predicted = nanoseconds(shape);
  // Scaled by the prediction, since weights that depend on measured noise favour short times.
  const double scale =
      observations_ == 0 ? measured : std::max(predicted, kLeastPredictedPart * measured);
  Vector features = features_of(shape);
  for (double& feature : features) feature *= unit_ / scale;
  const double error = (measured - predicted) / scale;
  // What is measured for the first times differs from a prediction that knows nothing of it.
  const bool is_new =
      observations_ == 0 || (shape.guess_tokens > 0 && guess_observations_ < kGuessStepsToLearn);
  fit(features, is_new ? error : believed(error));
  ++observations_;
  if (shape.prefill_tokens > 0) ++prefill_observations_;
  if (shape.guess_tokens > 0) ++guess_observations_;
}

double StepTimeModel::believed(double error) {
  const double most = kMostUsualErrors * usual_error_;
  usual_error_ *= std::abs(error) > usual_error_ ? kErrorGrowth : kErrorShrink;
  usual_error_ = std::max(usual_error_, kLeastError);
  return std::clamp(error, -most, most);
}

double StepTimeModel::keep_after(double error) {
  lean_ += kLeanOfOneError * ((error > 0 ? 1.0 : -1.0) - lean_);
  const double leaning = (std::abs(lean_) - kLeastLean) / (kFullLean - kLeastLean);
  return std::lerp(kKeep, kKeepWhenLeaning, std::clamp(leaning, 0.0, 1.0));
}

/// One step of recursive least squares, in information form.
void StepTimeModel::fit(const Vector& features, double error) {
  const double keep = keep_after(error);
  for (std::size_t i = 0; i < kFeatures; ++i) {
    for (double& element : information_[i]) element *= keep;
    information_[i][i] += (1 - keep) * kLeastInformation;
    for (std::size_t j = 0; j < kFeatures; ++j) information_[i][j] += features[i] * features[j];
  }
  const Vector gain = solve(information_, features);
  for (std::size_t i = 0; i < kFeatures; ++i) coefficients_[i] += unit_ * error * gain[i];
  hold_at_zero_what_is_negative();
}

/// Makes all coefficients non-negative while fitting the remembered steps about as well: sets the
/// most negative coefficient to 0, refits the others, and so on.
void StepTimeModel::hold_at_zero_what_is_negative() {
  const Vector best = coefficients_;
  std::bitset<kFeatures> held;
  for (std::size_t round = 0; round < kFeatures; ++round) {
    const auto lowest = std::ranges::min_element(coefficients_);
    if (*lowest >= 0) return;
    held.set(static_cast<std::size_t>(lowest - coefficients_.begin()));
    // Minimizes the quadratic form (c - best)' information (c - best) over all c with zeros at the
    // held coefficients.
    Matrix matrix{};
    Vector right{};
    for (std::size_t i = 0; i < kFeatures; ++i) {
      if (held[i]) matrix[i][i] = 1;
      if (held[i]) continue;
      for (std::size_t j = 0; j < kFeatures; ++j) {
        if (!held[j]) matrix[i][j] = information_[i][j];
        right[i] += information_[i][j] * best[j];
      }
    }
    coefficients_ = solve(matrix, right);
  }
}

Duration StepTimeModel::predict(const StepShape& shape) const {
  constexpr double kLongest = 9e18;  // about what nanoseconds in 64 bits hold, 285 years
  return Duration(std::llround(std::min(nanoseconds(shape), kLongest)));
}

GuessTimes StepTimeModel::guess_times(const StepShape& without_guesses) const {
  const double step = nanoseconds(without_guesses);
  const double token = step / std::max(without_guesses.decode_tokens, 1);
  if (guess_observations_ < kGuessStepsToLearn) return {step, token};
  const double guess = kScaleOfGuesses * coefficients_[4] + kScaleOfContext * coefficients_[3];
  return {step, std::min(guess, 2 * token)};
}

std::int32_t StepTimeModel::prefill_tokens_within(Duration target, const StepShape& without_prefill,
                                                  std::int32_t most) const {
  if (most_prefill_ == 0) return std::min(most, kStartPrefillTokens);
  const bool is_learnt = prefill_observations_ >= kPrefillStepsToLearn;
  const double without = is_learnt ? nanoseconds(without_prefill) : 0;
  const double left = static_cast<double>(target.count()) - without;
  if (left <= 0) return 0;
  const std::int64_t measured = 2 * std::int64_t{most_prefill_};
  const std::int64_t trusted = std::max<std::int64_t>(measured, kStartPrefillTokens);
  const auto bound = static_cast<std::int32_t>(std::min<std::int64_t>(most, trusted));
  const double each = is_learnt
                          ? kScaleOfPrefill * coefficients_[2] + kScaleOfContext * coefficients_[3]
                          : newest_each_;
  if (each * bound <= left) return bound;
  return static_cast<std::int32_t>(left / each);
}

}  // namespace weft
