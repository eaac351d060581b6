// Blocks whose codes are indices into a table of 16 numbers.

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/quantize/block_quantizers.h"

namespace weft {
namespace {

/// Writes 32 codes, the first 16 in the low halves of the bytes.
void store_table_codes(std::span<const float> numbers, float inverse, const CodeTable& table,
                       BlockBytes to) {
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = static_cast<std::uint8_t>(nearest_code(table, numbers[i] * inverse) |
                                      nearest_code(table, numbers[i + 16] * inverse) << 4U);
  }
}

void quantize_iq4_nl(const FitGroup& group, BlockBytes block) {
  const float scale = store_f16(fit_table_scale(group, kIq4Values), block);
  store_table_codes(group.numbers, inverse_of(scale), kIq4Values, block + 2);
}

void quantize_iq4_xs(const FitGroup& group, BlockBytes block) {
  constexpr CodeRange kScales{-32, 31};
  std::array<float, 8> scales;
  for (std::size_t g = 0; g < scales.size(); ++g) {
    scales[g] = fit_table_scale(group.part(32 * g, 32), kIq4Values);
  }
  const float scale = store_f16(extreme_of(scales) / static_cast<float>(kScales.least), block);
  const float inverse = inverse_of(scale);
  std::uint16_t high = 0;
  for (std::size_t g = 0; g < scales.size(); ++g) {
    const int code = code_near(scales[g] * inverse, kScales);
    const unsigned bits = static_cast<unsigned>(code - kScales.least);
    add_bits(block[4 + g / 2], static_cast<int>(bits & 15U), static_cast<std::int64_t>(g % 2 * 4));
    high = static_cast<std::uint16_t>(high | bits >> 4U << 2 * g);
    store_table_codes(group.numbers.subspan(32 * g, 32),
                      inverse_of(scale * static_cast<float>(code)), kIq4Values, block + 8 + 16 * g);
  }
  std::memcpy(block + 2, &high, sizeof(high));
}

/// The scale is the power of two that brings the extreme into the table's last octave
/// (Microscaling specification, OCP 1.0, section 6.3).
void quantize_mxfp4(const FitGroup& group, BlockBytes block) {
  constexpr int kBias = 127;
  constexpr int kLastOctave = 2;  // the exponent of E2M1's largest numbers
  const float extreme = std::abs(extreme_of(group.numbers));
  int exponent = 0;
  if (extreme > 0) exponent = std::clamp(std::ilogb(extreme) - kLastOctave + kBias, 0, 254);
  block[0] = static_cast<std::uint8_t>(exponent);
  // The table's numbers are doubled. Dividing by a power of two is exact.
  const float inverse = std::ldexp(1.0F, kBias + 1 - exponent);
  store_table_codes(group.numbers, inverse, kE2M1Values, block + 1);
}

}  // namespace

BlockQuantizer table_quantizer_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kIQ4_NL:
      return quantize_iq4_nl;
    case DType::kIQ4_XS:
      return quantize_iq4_xs;
    case DType::kMXFP4:
      return quantize_mxfp4;
    default:
      return nullptr;
  }
}

}  // namespace weft
