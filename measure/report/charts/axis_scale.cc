#include "weft/measure/report/charts/axis_scale.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace weft::measure {
namespace {

// Within this bound, ends that are rounded outwards stay far from overflow and from denormals.
constexpr double kLargest = 1e200;
constexpr double kSmallest = 1e-200;
constexpr double kStepSlack = 1e-9;  // how far rounding may have moved a value, as a fraction of a
                                     // step

/// Rounds a value between 1 and 10 up to 1, 2, 5 or 10.
double round_up(double mantissa) {
  for (const double round : {1.0, 2.0, 5.0}) {
    if (mantissa <= round * (1 + kStepSlack)) return round;
  }
  return 10;
}

double round_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  return round_up(rough / power) * power;
}

/// Rounds a logarithm up or down to the logarithm of 1, 2 or 5 times a power of ten.
double outwards(double at, bool up) {
  const double power = std::floor(at + kStepSlack);
  const double mantissa = std::pow(10, at - power);
  if (up) return power + std::log10(round_up(mantissa));
  for (const double round : {5.0, 2.0}) {
    if (mantissa >= round * (1 - kStepSlack)) return power + std::log10(round);
  }
  return power;
}

using Range = std::pair<double, double>;

/// Widens a range so that it is not empty, even where all values are equal.
Range widened(Range range, bool logarithmic) {
  auto& [low, high] = range;
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low > std::max(size * kStepSlack, kSmallest)) return range;
  if (logarithmic) return {low - 0.5, high + 0.5};
  if (size < kSmallest) return {0, 1};
  return {low - size / 2, high + size / 2};
}

Range range_of(const std::vector<double>& values, const AxisWish& wish) {
  if (values.empty()) return {0, 1};
  const auto [least, most] = std::ranges::minmax(values);
  if (wish.logarithmic) return widened({std::log10(least), std::log10(most)}, true);
  Range range = widened({least, most}, false);
  // Where the values differ by a smaller share of their size, an axis from zero would show them
  // flat.
  constexpr double kFlat = 0.25;
  if (wish.from_zero && range.first > 0 && range.first < (1 - kFlat) * range.second) {
    range.first = 0;
  }
  if (wish.from_zero && range.second < 0 && range.second > (1 - kFlat) * range.first) {
    range.second = 0;
  }
  return range;
}

}  // namespace

bool can_show(double value, bool logarithmic) noexcept {
  if (!std::isfinite(value) || std::abs(value) > kLargest) return false;
  return !logarithmic || value >= kSmallest;
}

AxisScale AxisScale::around(const std::vector<double>& values, const AxisWish& wish) {
  AxisScale scale;
  scale.logarithmic_ = wish.logarithmic;
  auto [low, high] = range_of(values, wish);
  const double margin = wish.margin * (high - low);
  scale.low_ = low - margin;
  scale.high_ = high + margin;
  if (wish.logarithmic) {
    scale.make_log_ticks(wish.ticks, wish.round);
  } else {
    scale.make_linear_ticks(wish.ticks, wish.round);
  }
  return scale;
}

double AxisScale::place(double value) const noexcept {
  const double at = logarithmic_ ? std::log10(value) : value;
  return (at - low_) / (high_ - low_);
}

double AxisScale::low() const noexcept { return logarithmic_ ? std::pow(10, low_) : low_; }
double AxisScale::high() const noexcept { return logarithmic_ ? std::pow(10, high_) : high_; }

void AxisScale::set_ticks(const std::vector<double>& values) {
  ticks_.clear();
  for (const double value : values) {
    double step = std::abs(value);
    // A label has as many decimals as the value needs and as fit.
    int decimals = 0;
    while (decimals < 3 && std::abs(std::round(step) - step) > kStepSlack * step) {
      step *= 10;
      ++decimals;
    }
    ticks_.push_back({value, tick_label(value, std::pow(10, -decimals), std::abs(value))});
  }
}

void AxisScale::make_linear_ticks(double wanted, bool round) {
  const double least = low();
  const double most = high();
  const double step = round_step((most - least) / wanted);
  double first = std::ceil(least / step - kStepSlack);
  double last = std::floor(most / step + kStepSlack);
  if (round) {
    first = std::floor(least / step + kStepSlack);
    last = std::ceil(most / step - kStepSlack);
    low_ = first * step;
    high_ = last * step;
  }
  const double largest = std::max(std::abs(first), std::abs(last)) * step;
  ticks_.clear();
  for (double i = first; i <= last; ++i) {
    ticks_.push_back({i * step, tick_label(i * step, step, largest)});
  }
}

void AxisScale::make_log_ticks(double wanted, bool round) {
  const double decades = high_ - low_;
  // With 2 and 5 besides 1 there are three ticks a decade.
  const bool fine = 3 * decades <= 1.5 * wanted;
  const double apart = fine ? 1 : std::max(1.0, std::ceil(decades / (1.5 * wanted)));
  std::vector<double> places;
  for (double power = std::floor(low_ / apart) * apart; power <= high_ + apart; power += apart) {
    for (const double mantissa : {1.0, 2.0, 5.0}) {
      if (mantissa == 1 || fine) places.push_back(power + std::log10(mantissa));
    }
  }
  if (round) {
    low_ = outwards(low_, false);
    high_ = outwards(high_, true);
  }
  ticks_.clear();
  for (const double at : places) {
    if (at < low_ - kStepSlack || at > high_ + kStepSlack) continue;
    const double value = std::pow(10, at);
    const double power = std::pow(10, std::floor(at + kStepSlack));
    const double exact = std::round(value / power) * power;
    ticks_.push_back({exact, tick_label(exact, power, exact)});
  }
  // The axis spans less than a decade and lies inside one.
  if (ticks_.size() < 3 && decades < 1) {
    logarithmic_ = false;
    const Range logarithms{low_, high_};
    low_ = std::pow(10, low_);
    high_ = std::pow(10, high_);
    make_linear_ticks(wanted, false);
    logarithmic_ = true;
    std::tie(low_, high_) = logarithms;
  }
}

}  // namespace weft::measure
