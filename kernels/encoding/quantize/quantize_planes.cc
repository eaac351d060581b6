// Inferflow's blocks: a scale, a minimum, and codes in planes of bits.

#include <array>

#include "weft/kernels/encoding/bit_planes.h"
#include "weft/kernels/encoding/quantize/block_quantizers.h"

namespace weft {
namespace {

/// Writes codes of kBits bits as planes.
template <unsigned kBits, std::size_t kCount>
void split_planes(const std::array<int, kCount>& codes, BlockBytes to) {
  unsigned below = 0;
  for (const unsigned width : BitPlanes::kWidths) {
    if ((kBits & width) == 0) continue;
    const std::size_t bytes = kCount * width / 8;
    const int mask = (1 << width) - 1;
    for (std::size_t i = 0; i < kCount; ++i) {
      add_bits(to[i % bytes], codes[i] >> below & mask,
               static_cast<std::int64_t>(i / bytes * width));
    }
    to += bytes;
    below += width;
  }
}

/// Returns the codes nearest to the numbers under the stored (rounded) scale and minimum.
template <std::size_t kCount>
std::array<int, kCount> plane_codes(const FitGroup& group, int levels, BlockBytes block) {
  ScaleAndMinimum line = group.importance == nullptr ? span_of(group.numbers, levels)
                                                     : fit_scale_and_minimum(group, levels, false);
  line.scale = store_f16(line.scale, block);
  line.minimum = store_f16(line.minimum, block + 2);
  const float inverse = inverse_of(line.scale);
  std::array<int, kCount> codes;
  for (std::size_t i = 0; i < kCount; ++i) {
    codes[i] = code_near((group.numbers[i] - line.minimum) * inverse, {0, levels - 1});
  }
  return codes;
}

template <unsigned kBits, std::size_t kCount>
void quantize_planes(const FitGroup& group, BlockBytes block) {
  split_planes<kBits>(plane_codes<kCount>(group, 1 << kBits, block), block + BitPlanes::kCodesAt);
}

void quantize_pairs_of_11(const FitGroup& group, BlockBytes block) {
  constexpr int kLevels = static_cast<int>(kPairBase);
  const std::array<int, 64> codes = plane_codes<64>(group, kLevels, block);
  std::array<int, 32> pairs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = codes[2 * i] * kLevels + codes[2 * i + 1];
  }
  split_planes<kPairBits>(pairs, block + BitPlanes::kCodesAt);
}

}  // namespace

BlockQuantizer plane_quantizer_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kQ2_B32:
      return quantize_planes<2, 32>;
    case DType::kQ3_B32:
      return quantize_planes<3, 32>;
    case DType::kQ3H_B64:
      return quantize_pairs_of_11;
    case DType::kQ4_B32:
      return quantize_planes<4, 32>;
    case DType::kQ4_B64:
      return quantize_planes<4, 64>;
    case DType::kQ5_B64:
      return quantize_planes<5, 64>;
    case DType::kQ6_B64:
      return quantize_planes<6, 64>;
    case DType::kQ8_B32:
      return quantize_planes<8, 32>;
    default:
      return nullptr;
  }
}

}  // namespace weft
