#pragma once

#include <bit>
#include <cstdint>

namespace weft {

/// Conversions between float32 and narrower types, to nearest even. They have no branches, so that
/// the compiler vectorises a loop over them. NaN stays NaN.

[[nodiscard]] constexpr float from_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[nodiscard]] constexpr std::uint16_t to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const std::uint32_t quiet = bits >> 16 | 0x40;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

[[nodiscard]] constexpr float from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
  // Moves the exponent's bias from 15 to 127, and makes subnormals normal.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const std::uint32_t special = magnitude | 0x7f800000;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  return std::bit_cast<float>(sign | (magnitude >= 0x0f800000 ? special : finite));
}

[[nodiscard]] constexpr std::uint16_t to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // A unit in the last place of 0.5 is the smallest subnormal, so that this sum rounds to one.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000;
  const std::uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const std::uint32_t special = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
  const std::uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  return static_cast<std::uint16_t>((magnitude >= 0x47800000 ? special : finite) |
                                    (bits >> 16 & 0x8000));
}

/// OCP's E4M3 (OCP 8-bit Floating Point Specification, section 5): up to 448, no infinity.
[[nodiscard]] constexpr float from_e4m3(std::uint8_t bits) noexcept {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7f) << 20;
  // Moves the exponent's bias from 7 to 127, and makes subnormals normal.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p120F);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80) << 24;
  return std::bit_cast<float>(sign | ((bits & 0x7f) == 0x7f ? 0x7fc00000 : finite));
}

/// A number that rounds to more than 448 becomes NaN.
[[nodiscard]] constexpr std::uint8_t to_e4m3(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // A unit in the last place of 2^14 is the smallest subnormal, so that this sum rounds to one.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14F) - 0x46800000;
  const std::uint32_t normal = (magnitude - 0x3c000000 + 0x7ffff + (magnitude >> 20 & 1)) >> 20;
  const std::uint32_t finite = magnitude < 0x3c800000 ? subnormal : normal;
  return static_cast<std::uint8_t>((finite > 0x7f ? 0x7f : finite) | (bits >> 24 & 0x80));
}

}  // namespace weft
