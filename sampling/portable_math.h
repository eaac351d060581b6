#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Logarithm and exponential with the same bits on every processor, which libraries do not promise.
/// The functions only add, multiply and divide (the tree is compiled with -ffp-contract=off).
namespace weft::sampling {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// ln x, within 2 units in the last place for normal x; -inf for 0. The series of atanh on
/// [sqrt(1/2), sqrt(2)].
[[nodiscard]] constexpr double portable_log(double x) {
  if (!(x > 0)) return -std::numeric_limits<double>::infinity();
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52U) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52U) - 1023;
  auto m = std::bit_cast<double>((bits & kFraction) | std::uint64_t{1023} << 52U);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  // |s| <= 0.172, so the omitted terms are below 0.172^24.
  for (int power = 23; power >= 3; power -= 2) sum = (sum + 1.0 / power) * square;
  return static_cast<double>(exponent) * kLn2 + 2 * (s + s * sum);
}

/// e^x, within 2 units in the last place; 0 and inf where the result is no normal number. Taylor's
/// series on [-ln(2)/2, ln(2)/2].
[[nodiscard]] inline double portable_exp(double x) {
  if (x < -708) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  // ln 2 in two parts, the first with so few digits that its multiples are exact.
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double n = std::floor(x * (1 / kLn2) + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int k = 13; k >= 1; --k) sum = 1 + r * sum / k;
  const auto power = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52U;
  return sum * std::bit_cast<double>(power);
}

/// base^power for base >= 0.
[[nodiscard]] inline double portable_pow(double base, double power) {
  if (power == 0) return 1;
  return base > 0 ? portable_exp(power * portable_log(base)) : 0;
}

}  // namespace weft::sampling
