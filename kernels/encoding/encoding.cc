#include "weft/kernels/encoding/encoding.h"

#include <cmath>
#include <cstring>

#include "weft/kernels/require.h"

namespace weft {
namespace {

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
      // The last two words hold the exponent's bits.
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
  return encoding_row(dtype);
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
