// Writes and reads the rows of a KV cache (kv_layer.h). The include guard is Highway's: each
// instruction set reads the file once.
#if defined(WEFT_KERNELS_ATTENTION_KV_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_ATTENTION_KV_ROW_INL_H
#undef WEFT_KERNELS_ATTENTION_KV_ROW_INL_H
#else
#define WEFT_KERNELS_ATTENTION_KV_ROW_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "weft/core/dtype.h"
#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/narrow_float.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// Rows of plain numbers.
template <class Stored>
class PlainKvRow {
 public:
  HWY_INLINE explicit PlainKvRow(const std::byte* row)
      : numbers_(reinterpret_cast<const Stored*>(row)) {}

  /// Returns the numbers from index `at` on, one for each lane of `d`, in f32.
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load(D d, std::size_t at) const {
    namespace hn = hwy::HWY_NAMESPACE;
    if constexpr (sizeof(Stored) == sizeof(float)) {
      return hn::LoadU(d, numbers_ + at);
    } else {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<Stored, D>(), numbers_ + at));
    }
  }

  [[nodiscard]] HWY_INLINE float number(std::size_t at) const { return widened(numbers_[at]); }

 private:
  static HWY_INLINE float widened(float number) { return number; }
  static HWY_INLINE float widened(hwy::bfloat16_t number) {
    return from_bf16(std::bit_cast<std::uint16_t>(number));
  }
  static HWY_INLINE float widened(hwy::float16_t number) {
    return from_f16(std::bit_cast<std::uint16_t>(number));
  }

  const Stored* numbers_;
};

/// Encodes to int8 and decodes.
struct Int8Code {
  static constexpr float kGreatest = 127;

  /// The sum's unit in the last place is 1, so its low bits are the nearest integer.
  static HWY_INLINE std::uint8_t encode(float number) {
    return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(number + 0x1.8p23F));
  }

  static constexpr float kUnit = 1;
  template <class D, class Codes>
  static HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> decode(D d, Codes codes) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::ConvertTo(d, hn::PromoteTo(hn::Rebind<std::int32_t, D>(), codes));
  }
  static HWY_INLINE float decode_one(std::int8_t code) { return code; }
};

/// Encodes to E4M3 and decodes. No code is NaN: a row with NaN has a scale of NaN instead.
struct E4M3Code {
  static constexpr float kGreatest = 448;

  static HWY_INLINE std::uint8_t encode(float number) { return to_e4m3(number); }

  /// The code's bits are those of an f16 whose exponent has a bias that is greater by 8.
  static constexpr float kUnit = 256;
  template <class D, class Codes>
  static HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> decode(D d, Codes codes) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::int16_t, D> d16;
    // The sign is extended into the exponent's highest bit, which is always 0.
    const auto bits = hn::And(hn::ShiftLeft<7>(hn::PromoteTo(d16, codes)),
                              hn::Set(d16, static_cast<std::int16_t>(0xbfff)));
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
  }
  static HWY_INLINE float decode_one(std::int8_t code) {
    return from_e4m3(static_cast<std::uint8_t>(code)) / kUnit;
  }
};

/// Rows of a scale and codes.
template <class Code>
class CodedKvRow {
 public:
  HWY_INLINE explicit CodedKvRow(const std::byte* row)
      : codes_(reinterpret_cast<const std::int8_t*>(row + sizeof(float))) {
    std::memcpy(&scale_, row, sizeof(float));
    scale_ *= Code::kUnit;
  }

  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load(D d, std::size_t at) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto codes = hn::LoadU(hn::Rebind<std::int8_t, D>(), codes_ + at);
    return hn::Mul(Code::decode(d, codes), hn::Set(d, scale_));
  }

  [[nodiscard]] HWY_INLINE float number(std::size_t at) const {
    return Code::decode_one(codes_[at]) * scale_;
  }

 private:
  const std::int8_t* codes_;
  float scale_;
};

/// Calls `use` with the type that reads the rows of a cache of `dtype`.
template <class Use>
HWY_INLINE void with_row_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::kF32:
      return use.template operator()<PlainKvRow<float>>();
    case DType::kF16:
      return use.template operator()<PlainKvRow<hwy::float16_t>>();
    case DType::kBF16:
      return use.template operator()<PlainKvRow<hwy::bfloat16_t>>();
    case DType::kI8:
      return use.template operator()<CodedKvRow<Int8Code>>();
    case DType::kF8_E4M3:
      return use.template operator()<CodedKvRow<E4M3Code>>();
    default:
      internal_error("no KV cache has this type");
  }
}

/// Returns the scale of a row's codes. The scale is NaN where a number of the row is infinite or
/// NaN, so the whole row becomes NaN and a broken model is noticed. The scale is 0 where all
/// numbers are too small for a normal scale.
HWY_INLINE float scale_of(const float* HWY_RESTRICT row, std::size_t size, float greatest_code) {
  // Magnitudes compare as their bits do; infinity and NaN are greatest.
  std::uint32_t greatest = 0;
  for (std::size_t i = 0; i < size; ++i) {
    greatest = std::max(greatest, std::bit_cast<std::uint32_t>(row[i]) & 0x7fffffff);
  }
  if (greatest >= 0x7f800000) return std::numeric_limits<float>::quiet_NaN();
  const float scale = std::bit_cast<float>(greatest) / greatest_code;
  return scale >= std::numeric_limits<float>::min() ? scale : 0;
}

template <class Code>
void encode_row(const float* HWY_RESTRICT row, std::size_t size, std::byte* HWY_RESTRICT to) {
  const float scale = scale_of(row, size, Code::kGreatest);
  std::memcpy(to, &scale, sizeof(scale));
  std::byte* HWY_RESTRICT codes = to + sizeof(scale);
  if (!(scale > 0)) {
    std::memset(codes, 0, size);
    return;
  }
  for (std::size_t i = 0; i < size; ++i) codes[i] = std::byte{Code::encode(row[i] / scale)};
}

/// Writes a row of a cache of `dtype`.
inline void store_kv_row(DType dtype, const float* HWY_RESTRICT row, std::size_t size,
                         std::byte* HWY_RESTRICT to) {
  if (dtype == DType::kI8) return encode_row<Int8Code>(row, size, to);
  if (dtype == DType::kF8_E4M3) return encode_row<E4M3Code>(row, size, to);
  if (dtype == DType::kF32) {
    std::memcpy(to, row, size * sizeof(float));
    return;
  }
  auto* HWY_RESTRICT halves = reinterpret_cast<std::uint16_t*>(to);
  if (dtype == DType::kF16) {
    for (std::size_t i = 0; i < size; ++i) halves[i] = to_f16(row[i]);
  } else {
    for (std::size_t i = 0; i < size; ++i) halves[i] = to_bf16(row[i]);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_ATTENTION_KV_ROW_INL_H
