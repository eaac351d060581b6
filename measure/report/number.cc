#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "weft/measure/report/report.h"

namespace weft::measure {
namespace {

constexpr int kDigits = 3;
constexpr double kExponentFrom = 1e6;

std::string printed(double value, std::chars_format format, int precision) {
  std::array<char, 32> digits{};  // fits a value below 1e6, or scientific notation
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, format, precision).ptr;
  return {digits.data(), end};
}

}  // namespace

std::string number(double value) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::trunc(value) && std::abs(value) < kExponentFrom) {
    return std::to_string(static_cast<long>(value));
  }
  // The value is rounded first, so 99.96 is "100" and not "100.0".
  const std::string rounded = printed(value, std::chars_format::scientific, kDigits - 1);
  const auto mark = rounded.find('e');
  int exponent = 0;
  const char* sign = rounded.data() + mark + 1;
  std::from_chars(sign + (*sign == '+' ? 1 : 0), rounded.data() + rounded.size(), exponent);
  if (exponent < -3 || exponent > 5) {
    return rounded.substr(0, mark) + "e" + std::to_string(exponent);
  }
  double shown = 0;
  std::from_chars(rounded.data(), rounded.data() + rounded.size(), shown);
  return printed(shown, std::chars_format::fixed, std::max(kDigits - 1 - exponent, 0));
}

}  // namespace weft::measure
