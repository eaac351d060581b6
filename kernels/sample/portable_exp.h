#pragma once

#include <bit>
#include <cstdint>

namespace weft {

/// Returns e^x for x <= 0, within 2 units in the last place; 0 below the smallest normal number.
/// Every processor gives the same bits if operations are not fused (-ffp-contract=off). Range
/// reduction of Cody and Waite, polynomial of Cephes' expf.
constexpr float exp_of_negative(float x) {
  constexpr float kRound = 0x1.8p23F;  // a sum with it has no fraction bits left
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = x - n * 0.693359375F + n * 2.12194440e-4F;
  float y = 1.9875691500e-4F;
  y = y * r + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * (r * r) + r + 1.0F;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000;
  return x < -87.3365F ? 0.0F : y * std::bit_cast<float>(power);
}

}  // namespace weft
