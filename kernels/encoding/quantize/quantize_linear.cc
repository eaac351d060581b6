// Blocks with one scale: GGUF's first types, and its ternary ones.

#include <array>
#include <cmath>

#include "weft/kernels/encoding/quantize/block_quantizers.h"

namespace weft {
namespace {

/// Stores two codes of four bits in a byte, the first 16 in the low halves.
void store_halves(const std::array<int, 32>& codes, BlockBytes to) {
  for (std::size_t i = 0; i < 16; ++i) {
    to[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  }
}

/// Stores the fifth bits of 32 codes.
void store_fifth_bits(const std::array<int, 32>& codes, BlockBytes to) {
  std::uint32_t high = 0;
  for (unsigned i = 0; i < 32; ++i) high |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  std::memcpy(to, &high, sizeof(high));
}

/// Stores the scale and returns codes whose zero is `middle`: `middle` codes are negative.
std::array<int, 32> signed_codes(const FitGroup& group, int middle, BlockBytes scale_at) {
  float inverse = 0;
  if (group.importance == nullptr) {
    // Codes use the scale before it is rounded to f16, as in gguf-py.
    const float scale = extreme_of(group.numbers) / static_cast<float>(-middle);
    inverse = inverse_of(scale);
    store_f16(scale, scale_at);
  } else {
    inverse = inverse_of(store_f16(fit_scale(group, {-middle, middle - 1}), scale_at));
  }
  std::array<int, 32> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float code = group.numbers[i] * inverse + (static_cast<float>(middle) + 0.5F);
    codes[i] = code_near(std::floor(code), {0, 2 * middle - 1});
  }
  return codes;
}

/// Stores scale and minimum, and returns codes that count from the minimum.
std::array<int, 32> codes_from_minimum(const FitGroup& group, int levels, BlockBytes scale_at) {
  ScaleAndMinimum line = span_of(group.numbers, levels);
  if (group.importance != nullptr) {
    line = fit_scale_and_minimum(group, levels, false);
    line.scale = store_f16(line.scale, scale_at);
    line.minimum = store_f16(line.minimum, scale_at + 2);
  } else {
    store_f16(line.scale, scale_at);
    store_f16(line.minimum, scale_at + 2);
  }
  const float inverse = inverse_of(line.scale);
  std::array<int, 32> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = code_near((group.numbers[i] - line.minimum) * inverse, {0, levels - 1});
  }
  return codes;
}

void quantize_q8_0(const FitGroup& group, BlockBytes block) {
  const float scale = std::abs(extreme_of(group.numbers)) / 127.0F;
  const float inverse = inverse_of(scale);
  store_f16(scale, block);
  for (std::size_t i = 0; i < 32; ++i) {
    const float code = std::round(group.numbers[i] * inverse);
    block[2 + i] = static_cast<std::uint8_t>(code_near(code, {-127, 127}));
  }
}

void quantize_q4_0(const FitGroup& group, BlockBytes block) {
  store_halves(signed_codes(group, 8, block), block + 2);
}

void quantize_q4_1(const FitGroup& group, BlockBytes block) {
  store_halves(codes_from_minimum(group, 16, block), block + 4);
}

void quantize_q5_0(const FitGroup& group, BlockBytes block) {
  const std::array<int, 32> codes = signed_codes(group, 16, block);
  store_fifth_bits(codes, block + 2);
  store_halves(codes, block + 6);
}

void quantize_q5_1(const FitGroup& group, BlockBytes block) {
  const std::array<int, 32> codes = codes_from_minimum(group, 32, block);
  store_fifth_bits(codes, block + 4);
  store_halves(codes, block + 8);
}

/// Stores the scale and returns for each number -1, 0 or 1, plus 1.
std::array<int, 256> ternary_codes(const FitGroup& group, BlockBytes scale_at) {
  float scale = std::abs(extreme_of(group.numbers));
  if (group.importance != nullptr) scale = fit_scale(group, {-1, 1});
  const float inverse = inverse_of(scale);
  store_f16(scale, scale_at);
  std::array<int, 256> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = code_near(std::round(group.numbers[i] * inverse), {-1, 1}) + 1;
  }
  return codes;
}

/// Stores `count` bytes of `digits` digits to base 3, the highest first, as fractions of 256.
void store_ternary(const int* codes, std::int64_t count, int digits, BlockBytes to) {
  for (std::int64_t i = 0; i < count; ++i) {
    int number = 0;
    for (int digit = 0; digit < 5; ++digit) {
      number = number * 3 + (digit < digits ? codes[digit * count + i] : 0);
    }
    to[i] = static_cast<std::uint8_t>((number * 256 + 242) / 243);
  }
}

void quantize_tq1_0(const FitGroup& group, BlockBytes block) {
  const std::array<int, 256> codes = ternary_codes(group, block + 52);
  store_ternary(codes.data(), 32, 5, block);
  store_ternary(codes.data() + 160, 16, 5, block + 32);
  store_ternary(codes.data() + 240, 4, 4, block + 48);
}

void quantize_tq2_0(const FitGroup& group, BlockBytes block) {
  const std::array<int, 256> codes = ternary_codes(group, block + 64);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    add_bits(block[i / 128 * 32 + i % 32], codes[i], static_cast<std::int64_t>(i / 32 % 4 * 2));
  }
}

}  // namespace

BlockQuantizer linear_quantizer_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kQ8_0:
      return quantize_q8_0;
    case DType::kQ4_0:
      return quantize_q4_0;
    case DType::kQ4_1:
      return quantize_q4_1;
    case DType::kQ5_0:
      return quantize_q5_0;
    case DType::kQ5_1:
      return quantize_q5_1;
    case DType::kTQ1_0:
      return quantize_tq1_0;
    case DType::kTQ2_0:
      return quantize_tq2_0;
    default:
      return nullptr;
  }
}

}  // namespace weft
