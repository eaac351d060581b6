#include "weft/kernels/encoding/quantize/scale_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

// Scales are tried in steps of a tenth of a code around the scale of the extreme numbers. Beyond
// the last step, clipped numbers lose more than the other numbers gain.
constexpr int kSteps = 9;
constexpr float kStep = 0.1F;

/// Sums for the best scale of given codes, sum w x q / sum w q q. That scale lowers the squared
/// error by gain().
struct ScaleSums {
  double numbers = 0;
  double codes = 0;

  void add(float weight, float number, int code) {
    numbers += static_cast<double>(weight) * static_cast<double>(number) * code;
    codes += static_cast<double>(weight) * code * code;
  }
  [[nodiscard]] double gain() const { return codes > 0 ? numbers * numbers / codes : 0; }
  [[nodiscard]] float scale() const { return static_cast<float>(numbers / codes); }
};

/// Keeps the scale with the largest gain.
class BestScale {
 public:
  explicit BestScale(float fallback) : scale_(fallback) {}

  void offer(const ScaleSums& sums) {
    if (sums.gain() <= gain_) return;
    gain_ = sums.gain();
    scale_ = sums.scale();
  }
  [[nodiscard]] float scale() const { return scale_; }

 private:
  float scale_;
  double gain_ = 0;
};

/// Sums for the best scale and minimum of given codes.
struct LineSums {
  double weights = 0;
  double codes = 0;
  double squares = 0;
  double numbers = 0;
  double products = 0;

  void add(float weight, float number, int code) {
    const auto w = static_cast<double>(weight);
    const auto x = static_cast<double>(number);
    weights += w;
    codes += w * code;
    squares += w * code * code;
    numbers += w * x;
    products += w * code * x;
  }

  [[nodiscard]] bool solve(bool below_zero, ScaleAndMinimum& line) const {
    const double determinant = weights * squares - codes * codes;
    if (determinant <= 0) return false;
    line.scale = static_cast<float>((weights * products - codes * numbers) / determinant);
    line.minimum = static_cast<float>((squares * numbers - codes * products) / determinant);
    if (below_zero && line.minimum > 0) {
      line.minimum = 0;
      line.scale = static_cast<float>(products / squares);
    }
    return line.scale > 0;
  }
};

double error_of(const FitGroup& group, const ScaleAndMinimum& line, int levels) {
  const float inverse = inverse_of(line.scale);
  double sum = 0;
  for (std::size_t i = 0; i < group.numbers.size(); ++i) {
    const float number = group.numbers[i];
    const int code = code_near((number - line.minimum) * inverse, {0, levels - 1});
    const auto error =
        static_cast<double>(line.scale * static_cast<float>(code) + line.minimum - number);
    sum += static_cast<double>(group.weight(i)) * error * error;
  }
  return sum;
}

}  // namespace

float inverse_of(float scale) noexcept {
  const float inverse = 1.0F / scale;
  return std::isfinite(inverse) ? inverse : 0.0F;
}

int code_near(float value, CodeRange range) noexcept {
  if (!(value > static_cast<float>(range.least))) return range.least;
  if (value > static_cast<float>(range.most)) return range.most;
  return static_cast<int>(std::floor(value + 0.5F));
}

float extreme_of(std::span<const float> numbers) noexcept {
  return *std::ranges::max_element(numbers, {}, [](float x) { return std::abs(x); });
}

float fit_scale(const FitGroup& group, CodeRange range) {
  const float extreme = extreme_of(group.numbers);
  if (extreme == 0) return 0;
  BestScale best(extreme / static_cast<float>(range.least));
  for (const int bound : {range.least, range.most}) {
    for (int step = -kSteps; step <= kSteps; ++step) {
      const float inverse =
          inverse_of(extreme) * (static_cast<float>(bound) + kStep * static_cast<float>(step));
      ScaleSums sums;
      for (std::size_t i = 0; i < group.numbers.size(); ++i) {
        const float number = group.numbers[i];
        sums.add(group.weight(i), number, code_near(number * inverse, range));
      }
      best.offer(sums);
    }
  }
  return best.scale();
}

ScaleAndMinimum span_of(std::span<const float> numbers, int levels) {
  const auto [least, most] = std::ranges::minmax(numbers);
  return {(most - least) / static_cast<float>(levels - 1), least};
}

ScaleAndMinimum fit_scale_and_minimum(const FitGroup& group, int levels, bool below_zero) {
  const auto [found_least, most] = std::ranges::minmax(group.numbers);
  const float least = below_zero ? std::min(found_least, 0.0F) : found_least;
  if (most <= least) return {0, least};
  ScaleAndMinimum best{(most - least) / static_cast<float>(levels - 1), least};
  double best_error = error_of(group, best, levels);
  for (int step = -kSteps; step <= 2 * kSteps; ++step) {
    const float inverse =
        (static_cast<float>(levels - 1) + kStep * static_cast<float>(step)) / (most - least);
    if (!std::isfinite(inverse) || inverse <= 0) continue;
    LineSums sums;
    for (std::size_t i = 0; i < group.numbers.size(); ++i) {
      const float number = group.numbers[i];
      sums.add(group.weight(i), number, code_near((number - least) * inverse, {0, levels - 1}));
    }
    ScaleAndMinimum line;
    if (!sums.solve(below_zero, line)) continue;
    const double error = error_of(group, line, levels);
    if (error >= best_error) continue;
    best_error = error;
    best = line;
  }
  return best;
}

unsigned nearest_code(const CodeTable& table, float value) noexcept {
  unsigned best = 0;
  float best_distance = std::numeric_limits<float>::infinity();
  for (unsigned code = 0; code < table.size(); ++code) {
    const float distance = std::abs(static_cast<float>(table[code]) - value);
    if (!(distance < best_distance)) continue;  // skips NaN too
    best = code;
    best_distance = distance;
  }
  return best;
}

float fit_table_scale(const FitGroup& group, const CodeTable& table) {
  const float extreme = extreme_of(group.numbers);
  if (extreme == 0) return 0;
  BestScale best(extreme / static_cast<float>(table.front()));
  for (const std::int8_t bound : {table.front(), table.back()}) {
    for (int step = -kSteps; step <= kSteps; ++step) {
      // The table's numbers are about 8 apart, so its steps are larger than those of plain codes.
      const float inverse =
          inverse_of(extreme) * (static_cast<float>(bound) + static_cast<float>(step));
      ScaleSums sums;
      for (std::size_t i = 0; i < group.numbers.size(); ++i) {
        const float number = group.numbers[i];
        sums.add(group.weight(i), number, table[nearest_code(table, number * inverse)]);
      }
      best.offer(sums);
    }
  }
  return best.scale();
}

}  // namespace weft
