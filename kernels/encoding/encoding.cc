#include "weft/kernels/encoding/encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "weft/kernels/encoding/integer_codes.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

constexpr auto kLinear = CodeType::kLinear;
constexpr auto kTable = CodeType::kTable;
constexpr auto kGrid = CodeType::kGrid;
constexpr auto kF16 = ScaleType::kF16;
constexpr auto kNibbles = ScaleType::kF16InNibbles;
constexpr auto kE8M0 = ScaleType::kE8M0;
constexpr auto kNotInGguf = Encoding::kNotInGguf;

constexpr Encoding integers(const IntegerCodes& codes) {
  return {.dtype = codes.dtype,
          .gguf_type = Encoding::kNotInGguf,
          .codes = CodeType::kLinear,
          .group = codes.group,
          .levels = std::int64_t{1} << static_cast<unsigned>(codes.bits),
          .scale_type = codes.bits == 8 ? ScaleType::kF32 : ScaleType::kF16,
          .scales = codes.groups};
}

constexpr Encoding floats(DType dtype, CodeType codes, std::int64_t group, std::int64_t levels) {
  return {.dtype = dtype,
          .gguf_type = Encoding::kNotInGguf,
          .codes = codes,
          .group = group,
          .levels = levels,
          .scale_type = ScaleType::kF32};
}

constexpr std::array kFixedEncodings = {
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
    Encoding{DType::kQ2_B32, kNotInGguf, kLinear, 32, 4, true, kF16, 0, 2},
    Encoding{DType::kQ3_B32, kNotInGguf, kLinear, 32, 8, true, kF16, 0, 2},
    Encoding{DType::kQ3H_B64, kNotInGguf, kLinear, 64, 12, true, kF16, 0, 2},
    Encoding{DType::kQ4_B32, kNotInGguf, kLinear, 32, 16, true, kF16, 0, 2},
    Encoding{DType::kQ4_B64, kNotInGguf, kLinear, 64, 16, true, kF16, 0, 2},
    Encoding{DType::kQ5_B64, kNotInGguf, kLinear, 64, 32, true, kF16, 0, 2},
    Encoding{DType::kQ6_B64, kNotInGguf, kLinear, 64, 64, true, kF16, 0, 2},
    Encoding{DType::kQ8_B32, kNotInGguf, kLinear, 32, 256, true, kF16, 0, 2},
};

constexpr std::array kFloatEncodings = {
    floats(DType::kF8_32, CodeType::kFloat, 32, 256),
    floats(DType::kF8_64, CodeType::kFloat, 64, 256),
    floats(DType::kF8_128, CodeType::kFloat, 128, 256),
    floats(DType::kF8_256, CodeType::kFloat, 256, 256),
    floats(DType::kNF4_64, kTable, 64, 16),
    floats(DType::kFP4_64, kTable, 64, 15),
};

constexpr auto kEncodings = [] {
  std::array<Encoding, kFixedEncodings.size() + kIntegerCodes.size() + kFloatEncodings.size()> all;
  auto* next = std::ranges::copy(kFixedEncodings, all.begin()).out;
  next = std::ranges::transform(kIntegerCodes, next, integers).out;
  std::ranges::copy(kFloatEncodings, next);
  return all;
}();

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
      for (std::int64_t i = 0; i < encoding.scales; ++i) {
        if (!is_finite_f16(word_at(scale + 2 * i))) return false;
      }
      return !encoding.has_minimum || is_finite_f16(word_at(block + encoding.minimum_at));
    case ScaleType::kF32: {
      float number = 0;
      std::memcpy(&number, scale, sizeof(number));
      return std::isfinite(number);
    }
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
