#pragma once

#include <string>
#include <vector>

namespace weft::measure {

struct Tick {
  double value = 0;
  std::string label;
};

/// The properties that an axis should have.
struct AxisWish {
  bool logarithmic = false;
  /// A linear axis begins at 0 unless all values are far from it.
  bool from_zero = false;
  bool round = false;  ///< its ends are at 1, 2 or 5 times a power of ten, or at ticks
  double margin = 0;   ///< space beyond each end, as a fraction of the values' range
  int ticks = 6;       ///< wanted number of ticks; the real number is close to it
};

/// Whether an axis can show the value. A logarithmic axis shows values greater than 0; no axis
/// shows NaN, infinity, or values so large that differences overflow.
[[nodiscard]] bool can_show(double value, bool logarithmic) noexcept;

/// The places of values on an axis, and the labels along it. Plain data, made for the values that
/// it shows.
class AxisScale {
 public:
  /// Makes an axis for values that can_show() accepts, in any order; without values it goes from 0
  /// to 1.
  [[nodiscard]] static AxisScale around(const std::vector<double>& values, const AxisWish& wish);

  /// Returns the place of a value: 0 at the low end, 1 at the high end, less and more beyond them.
  [[nodiscard]] double place(double value) const noexcept;
  [[nodiscard]] double low() const noexcept;
  [[nodiscard]] double high() const noexcept;
  [[nodiscard]] bool logarithmic() const noexcept { return logarithmic_; }

  /// Returns the ticks in the order of their values. They are at 1, 2 and 5 times powers of ten, or
  /// only at powers of ten where an axis spans many.
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  /// Replaces the ticks by ones at these values, which must lie within the axis.
  void set_ticks(const std::vector<double>& values);

 private:
  void make_linear_ticks(double wanted, bool round);
  void make_log_ticks(double wanted, bool round);

  bool logarithmic_ = false;
  double low_ = 0;   // the logarithm on a logarithmic axis
  double high_ = 1;  // greater than low_
  std::vector<Tick> ticks_;
};

/// Returns `value` in the form of an axis whose ticks are `step` apart and reach `largest`: 0.25,
/// 1500, 200k, 1.5M, 1e-6.
[[nodiscard]] std::string tick_label(double value, double step, double largest);

}  // namespace weft::measure
