#include "weft/kernels/encoding/encoding.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/kernels/require.h"

namespace weft {
namespace {

constexpr auto kLinear = CodeType::kLinear;
constexpr auto kTable = CodeType::kTable;
constexpr auto kGrid = CodeType::kGrid;
constexpr auto kF16 = ScaleType::kF16;
constexpr auto kNibbles = ScaleType::kF16InNibbles;
constexpr auto kE8M0 = ScaleType::kE8M0;

constexpr std::array kEncodings = {
    Encoding{DType::kQ8_0, 8, kLinear, 32, 256, false, kF16, 0},
    Encoding{DType::kQ4_0, 2, kLinear, 32, 16, false, kF16, 0},
    Encoding{DType::kQ4_1, 3, kLinear, 32, 16, true, kF16, 0, 2},
    Encoding{DType::kQ5_0, 6, kLinear, 32, 32, false, kF16, 0},
    Encoding{DType::kQ5_1, 7, kLinear, 32, 32, true, kF16, 0, 2},
    Encoding{DType::kQ2_K, 10, kLinear, 16, 4, true, kF16, 80, 82},
    Encoding{DType::kQ3_K, 11, kLinear, 16, 8, false, kF16, 108},
    Encoding{DType::kQ4_K, 12, kLinear, 32, 16, true, kF16, 0, 2},
    Encoding{DType::kQ5_K, 13, kLinear, 32, 32, true, kF16, 0, 2},
    Encoding{DType::kQ6_K, 14, kLinear, 16, 64, false, kF16, 208},
    Encoding{DType::kIQ1_S, 19, kGrid, 32, 3, true, kF16, 0, 0},
    Encoding{DType::kIQ1_M, 29, kGrid, 8, 3, true, kNibbles, 48, 48},
    Encoding{DType::kIQ2_XXS, 16, kGrid, 32, 6, false, kF16, 0},
    Encoding{DType::kIQ2_XS, 17, kGrid, 16, 6, false, kF16, 0},
    Encoding{DType::kIQ2_S, 22, kGrid, 16, 6, false, kF16, 0},
    Encoding{DType::kIQ3_XXS, 18, kGrid, 32, 16, false, kF16, 0},
    Encoding{DType::kIQ3_S, 21, kGrid, 32, 16, false, kF16, 0},
    Encoding{DType::kIQ4_NL, 20, kTable, 32, 16, false, kF16, 0},
    Encoding{DType::kIQ4_XS, 23, kTable, 32, 16, false, kF16, 0},
    Encoding{DType::kTQ1_0, 34, kLinear, 256, 3, false, kF16, 52},
    Encoding{DType::kTQ2_0, 35, kLinear, 256, 4, false, kF16, 64},
    Encoding{DType::kMXFP4, 39, kTable, 32, 16, false, kE8M0, 0},
};

constexpr std::size_t kFirst = static_cast<std::size_t>(DType::kQ8_0);

constexpr bool rows_stand_at_their_type() {
  for (std::size_t i = 0; i < kEncodings.size(); ++i) {
    if (static_cast<std::size_t>(kEncodings[i].dtype) != kFirst + i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_type());

std::uint16_t word_at(const std::byte* from) {
  std::uint16_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

bool is_finite_f16(unsigned bits) { return (bits & 0x7c00U) != 0x7c00U; }

bool has_good_scale(const Encoding& encoding, const std::byte* block) {
  const std::byte* scale = block + encoding.scale_at;
  switch (encoding.scale_type) {
    case ScaleType::kE8M0:
      return *scale != std::byte{0xff};
    case ScaleType::kF16InNibbles:
      // The exponent's bits stand in the last two words.
      return is_finite_f16((word_at(scale + 6) & 0xf000U) | (word_at(scale + 4) >> 4U & 0x0f00U));
    case ScaleType::kF16:
      return is_finite_f16(word_at(scale)) &&
             (!encoding.has_minimum || is_finite_f16(word_at(block + encoding.minimum_at)));
  }
  return false;
}

}  // namespace

std::span<const Encoding> encodings() noexcept { return kEncodings; }

const Encoding& encoding_of(DType dtype) {
  require(is_encoded(dtype), "encoding_of: a plain type");
  return kEncodings[static_cast<std::size_t>(dtype) - kFirst];
}

std::optional<std::int64_t> first_bad_scale(const Encoding& encoding,
                                            std::span<const std::byte> bytes) {
  const std::int64_t step = block_of(encoding.dtype).bytes;
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) / step;
  for (std::int64_t block = 0; block < count; ++block) {
    if (!has_good_scale(encoding, bytes.data() + block * step)) return block;
  }
  return std::nullopt;
}

}  // namespace weft
