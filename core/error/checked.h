#pragma once

#include <concepts>
#include <optional>

namespace weft {

/// Sums and products of numbers that come from a file or a client; nothing when they would
/// overflow.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T left, T right) noexcept {
  T sum{};
  if (__builtin_add_overflow(left, right, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_multiply(T left, T right) noexcept {
  T product{};
  if (__builtin_mul_overflow(left, right, &product)) return std::nullopt;
  return product;
}

}  // namespace weft
