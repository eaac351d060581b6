#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// Numbers that share a scale, and the weight of each number's squared error.
struct FitGroup {
  std::span<const float> numbers;
  const float* importance = nullptr;  ///< null: all equal

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

/// Returns the code nearest to `value`, which is finite or NaN (then the least code).
[[nodiscard]] int code_near(float value, CodeRange range) noexcept;

/// Returns the first number of the largest magnitude.
[[nodiscard]] float extreme_of(std::span<const float> numbers) noexcept;

/// Returns the scale with the least weighted squared error of scale * code, tried with the codes of
/// scales near the extreme number's scale. The scale is negative where the least code fits the
/// extreme number best.
[[nodiscard]] float fit_scale(const FitGroup& group, CodeRange range);

/// A number is scale * code + minimum.
struct ScaleAndMinimum {
  float scale = 0;
  float minimum = 0;
};

/// Returns the scale and minimum that give the least number code 0, the largest code levels - 1.
[[nodiscard]] ScaleAndMinimum span_of(std::span<const float> numbers, int levels);

/// Returns the scale and minimum with the least weighted squared error, tried with the codes of
/// scales near span_of()'s. With `below_zero` the minimum is at most 0, as in K-quants.
[[nodiscard]] ScaleAndMinimum fit_scale_and_minimum(const FitGroup& group, int levels,
                                                    bool below_zero);

using CodeTable = std::array<std::int8_t, 16>;

/// Returns the code whose number in the table is nearest to `value`, the first on a tie.
[[nodiscard]] unsigned nearest_code(const CodeTable& table, float value) noexcept;

/// fit_scale() for codes of a table whose extreme numbers are its first and last.
[[nodiscard]] float fit_table_scale(const FitGroup& group, const CodeTable& table);

}  // namespace weft
