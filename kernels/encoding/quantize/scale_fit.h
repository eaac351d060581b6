#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// Numbers that share a scale, and how much the square of each one's error counts.
struct FitGroup {
  std::span<const float> numbers;
  const float* importance = nullptr;  ///< null: all alike

  [[nodiscard]] float weight(std::size_t i) const {
    return importance == nullptr ? 1.0F : importance[i];
  }
  [[nodiscard]] FitGroup part(std::size_t first, std::size_t count) const {
    return {numbers.subspan(first, count), importance == nullptr ? nullptr : importance + first};
  }
};

/// The codes that a number can have.
struct CodeRange {
  int least = 0;
  int most = 0;
};

/// Returns 1 / scale, or 0 where the inverse is no finite number.
[[nodiscard]] float inverse_of(float scale) noexcept;

/// Returns the code next to `value`, which is finite or NaN (the least).
[[nodiscard]] int code_near(float value, CodeRange range) noexcept;

/// Returns the first of the numbers of the largest magnitude.
[[nodiscard]] float extreme_of(std::span<const float> numbers) noexcept;

/// Returns the scale with the least weighted squared error of scale * code, among the codes that
/// scales around the extreme number's give. It is negative where the least code meets the extreme
/// number best.
[[nodiscard]] float fit_scale(const FitGroup& group, CodeRange range);

/// A number is scale * code + minimum.
struct ScaleAndMinimum {
  float scale = 0;
  float minimum = 0;
};

/// Returns the line on which the least number has code 0 and the largest the last of `levels`.
[[nodiscard]] ScaleAndMinimum span_of(std::span<const float> numbers, int levels);

/// Returns the scale and the minimum with the least weighted squared error, among the codes that
/// scales around span_of()'s give. With `below_zero` the minimum is at most 0, as K-quants have it.
[[nodiscard]] ScaleAndMinimum fit_scale_and_minimum(const FitGroup& group, int levels,
                                                    bool below_zero);

using CodeTable = std::array<std::int8_t, 16>;

/// Returns the code whose number in the table is next to `value`, the first of equals.
[[nodiscard]] unsigned nearest_code(const CodeTable& table, float value) noexcept;

/// fit_scale() for codes that stand for numbers of a table, whose extremes are its first and last.
[[nodiscard]] float fit_table_scale(const FitGroup& group, const CodeTable& table);

}  // namespace weft
