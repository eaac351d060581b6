#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "weft/measure/report/charts/axis_scale.h"

namespace weft::measure {
namespace {

constexpr double kValueSlack = 1e-9;  // how far rounding may have moved a value, as a fraction of
                                      // it

struct Unit {
  double from, size;
  char letter;
};
// A unit is used from five digits on, because four are read as fast as a letter.
constexpr std::array kUnits = {Unit{1e4, 1e3, 'k'}, Unit{1e6, 1e6, 'M'}, Unit{1e9, 1e9, 'G'},
                               Unit{1e12, 1e12, 'T'}};

std::string fixed(double value, int decimals) {
  std::array<char, 400> digits{};  // the longest double has 309 before the point
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, std::min(decimals, 20))
                       .ptr;
  return {digits.data(), end};
}

/// Returns the number of decimals that distinguish multiples of `step`.
int decimals_of(double step) {
  return static_cast<int>(std::max(0.0, std::ceil(-std::log10(step) - kValueSlack)));
}

}  // namespace

std::string tick_label(double value, double step, double largest) {
  if (value == 0) return "0";
  const std::string sign = value < 0 ? "\u2212" : "";
  value = std::abs(value);
  if (largest < 1e-3 || largest >= 1e16) {
    const double power = std::floor(std::log10(value) + kValueSlack);
    const double unit = std::pow(10, power);
    return sign + fixed(value / unit, decimals_of(step / unit)) + "e" + fixed(power, 0);
  }
  double unit = 1;
  std::string name;
  for (const Unit& one : kUnits) {
    if (largest < one.from * (1 - kValueSlack)) break;
    unit = one.size;
    name = one.letter;
  }
  return sign + fixed(value / unit, decimals_of(step / unit)) + name;
}

}  // namespace weft::measure
