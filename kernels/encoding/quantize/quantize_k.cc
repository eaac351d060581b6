// Blocks of 256 in groups with their own scales, and minimums, which are codes themselves.

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/kernels/encoding/quantize/block_quantizers.h"

namespace weft {
namespace {

constexpr std::size_t kBlockNumbers = 256;
using BlockCodes = std::array<int, kBlockNumbers>;

/// A block's groups of scale * code.
template <std::size_t kGroups>
struct ScaledGroups {
  std::array<int, kGroups> scales{};  ///< codes of the groups' scales
  BlockCodes codes{};
};

/// The extreme scale becomes the least code, since there is one more negative code than positive.
template <std::size_t kGroups>
ScaledGroups<kGroups> fit_groups(const FitGroup& block, CodeRange range, CodeRange scale_range,
                                 BlockBytes scale_at) {
  constexpr std::size_t kCount = kBlockNumbers / kGroups;
  std::array<float, kGroups> scales;
  for (std::size_t g = 0; g < kGroups; ++g) {
    scales[g] = fit_scale(block.part(g * kCount, kCount), range);
  }
  const float scale =
      store_f16(extreme_of(scales) / static_cast<float>(scale_range.least), scale_at);
  const float inverse = inverse_of(scale);
  ScaledGroups<kGroups> groups;
  for (std::size_t g = 0; g < kGroups; ++g) {
    groups.scales[g] = code_near(scales[g] * inverse, scale_range);
    const float own = inverse_of(scale * static_cast<float>(groups.scales[g]));
    for (std::size_t i = g * kCount; i < (g + 1) * kCount; ++i) {
      groups.codes[i] = code_near(block.numbers[i] * own, range);
    }
  }
  return groups;
}

/// A block's groups of scale * code - minimum.
template <std::size_t kGroups>
struct LineGroups {
  std::array<int, kGroups> scales{};
  std::array<int, kGroups> minimums{};
  BlockCodes codes{};
};

/// The largest scale and the largest minimum get the highest code.
template <std::size_t kGroups>
LineGroups<kGroups> fit_line_groups(const FitGroup& block, int levels, int most_scale,
                                    BlockBytes scale_at) {
  constexpr std::size_t kCount = kBlockNumbers / kGroups;
  std::array<ScaleAndMinimum, kGroups> lines;
  float largest_scale = 0;
  float largest_minimum = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    lines[g] = fit_scale_and_minimum(block.part(g * kCount, kCount), levels, true);
    largest_scale = std::max(largest_scale, lines[g].scale);
    largest_minimum = std::max(largest_minimum, -lines[g].minimum);
  }
  const auto most = static_cast<float>(most_scale);
  const float scale = store_f16(largest_scale / most, scale_at);
  const float minimum = store_f16(largest_minimum / most, scale_at + 2);
  const CodeRange range{0, most_scale};
  LineGroups<kGroups> groups;
  for (std::size_t g = 0; g < kGroups; ++g) {
    groups.scales[g] = code_near(lines[g].scale * inverse_of(scale), range);
    groups.minimums[g] = code_near(-lines[g].minimum * inverse_of(minimum), range);
    const float own = inverse_of(scale * static_cast<float>(groups.scales[g]));
    const float taken_off = minimum * static_cast<float>(groups.minimums[g]);
    for (std::size_t i = g * kCount; i < (g + 1) * kCount; ++i) {
      groups.codes[i] = code_near((block.numbers[i] + taken_off) * own, {0, levels - 1});
    }
  }
  return groups;
}

void quantize_q2_k(const FitGroup& numbers, BlockBytes block) {
  const auto groups = fit_line_groups<16>(numbers, 4, 15, block + 80);
  for (std::size_t g = 0; g < 16; ++g) {
    block[g] = static_cast<std::uint8_t>(groups.scales[g] | groups.minimums[g] << 4);
    BlockBytes codes = block + 16 + g / 8 * 32 + g % 2 * 16;
    for (std::size_t i = 0; i < 16; ++i) {
      add_bits(codes[i], groups.codes[16 * g + i], static_cast<std::int64_t>(g % 8 / 2 * 2));
    }
  }
}

void quantize_q3_k(const FitGroup& numbers, BlockBytes block) {
  const auto groups = fit_groups<16>(numbers, {-4, 3}, {-32, 31}, block + 108);
  BlockBytes scales = block + 96;
  for (std::size_t g = 0; g < 16; ++g) {
    const int scale = groups.scales[g] + 32;
    add_bits(scales[g % 8], scale & 15, static_cast<std::int64_t>(g / 8 * 4));
    add_bits(scales[8 + g % 4], scale >> 4, static_cast<std::int64_t>(g / 4 * 2));
    BlockBytes codes = block + 32 + g / 8 * 32 + g % 2 * 16;
    BlockBytes masks = block + g % 2 * 16;
    for (std::size_t i = 0; i < 16; ++i) {
      const int code = groups.codes[16 * g + i] + 4;
      add_bits(codes[i], code & 3, static_cast<std::int64_t>(g % 8 / 2 * 2));
      add_bits(masks[i], code >> 2, static_cast<std::int64_t>(g / 2));
    }
  }
}

/// Stores the scales and minimums of the 8 groups of q4_k and q5_k in 6 bits each.
void store_six_bits(const std::array<int, 8>& scales, const std::array<int, 8>& minimums,
                    BlockBytes to) {
  for (std::size_t g = 0; g < 4; ++g) {
    to[g] = static_cast<std::uint8_t>(scales[g] | scales[g + 4] >> 4 << 6);
    to[g + 4] = static_cast<std::uint8_t>(minimums[g] | minimums[g + 4] >> 4 << 6);
    to[g + 8] = static_cast<std::uint8_t>((scales[g + 4] & 15) | (minimums[g + 4] & 15) << 4);
  }
}

/// Stores the low four bits of the codes of groups of 32: two groups in each run of 32 bytes.
void store_group_halves(const BlockCodes& codes, BlockBytes to) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    add_bits(to[i / 64 * 32 + i % 32], codes[i] & 15, static_cast<std::int64_t>(i / 32 % 2 * 4));
  }
}

void quantize_q4_k(const FitGroup& numbers, BlockBytes block) {
  const auto groups = fit_line_groups<8>(numbers, 16, 63, block);
  store_six_bits(groups.scales, groups.minimums, block + 4);
  store_group_halves(groups.codes, block + 16);
}

void quantize_q5_k(const FitGroup& numbers, BlockBytes block) {
  const auto groups = fit_line_groups<8>(numbers, 32, 63, block);
  store_six_bits(groups.scales, groups.minimums, block + 4);
  store_group_halves(groups.codes, block + 48);
  for (std::size_t i = 0; i < kBlockNumbers; ++i) {
    add_bits(block[16 + i % 32], groups.codes[i] >> 4, static_cast<std::int64_t>(i / 32));
  }
}

void quantize_q6_k(const FitGroup& numbers, BlockBytes block) {
  const auto groups = fit_groups<16>(numbers, {-32, 31}, {-128, 127}, block + 208);
  for (std::size_t g = 0; g < 16; ++g) {
    block[192 + g] = static_cast<std::uint8_t>(groups.scales[g]);
  }
  for (std::size_t i = 0; i < kBlockNumbers; ++i) {
    const int code = groups.codes[i] + 32;
    const std::size_t in_half = i % 128;
    add_bits(block[i / 128 * 64 + in_half % 64], code & 15,
             static_cast<std::int64_t>(in_half / 64 * 4));
    add_bits(block[128 + i / 128 * 32 + in_half % 32], code >> 4,
             static_cast<std::int64_t>(in_half / 32 * 2));
  }
}

}  // namespace

BlockQuantizer k_quantizer_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kQ2_K:
      return quantize_q2_k;
    case DType::kQ3_K:
      return quantize_q3_k;
    case DType::kQ4_K:
      return quantize_q4_k;
    case DType::kQ5_K:
      return quantize_q5_k;
    case DType::kQ6_K:
      return quantize_q6_k;
    default:
      return nullptr;
  }
}

}  // namespace weft
