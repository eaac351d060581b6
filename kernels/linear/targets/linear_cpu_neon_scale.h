#pragma once

#if defined(__aarch64__)

#include <arm_neon.h>

#include <bit>
#include <cstdint>
#include <limits>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/linear/linear_plan.h"

namespace weft::neon {

/// Whether codes are unsigned and exceed int8. Subtracting 128 then makes them int8.
inline bool flips(const CodedPanel& coded) {
  return !coded.is_signed && coded.largest > std::numeric_limits<std::int8_t>::max();
}

/// The offset that remains to be subtracted from a code once it is int8.
inline std::int32_t rest_of_offset(const CodedPanel& coded) {
  return coded.is_signed || flips(coded) ? coded.offset - 128 : coded.offset;
}

/// Turns a row's sums of products of a group of codes into numbers, with the same bits as
/// CodedScale (linear_codes-inl.h).
struct RowScale {
  int32x4_t codes_sum;
  float32x4_t scale;

  /// `row` is the row's first word in the block of `rows` rows; `group` is the index in the block.
  template <int kGroups>
  [[gnu::always_inline]] static RowScale of(const std::uint32_t* row, std::int64_t rows,
                                            std::int64_t group) {
    const std::uint32_t* sum = row + CodedPlan::kSumWord * rows;
    const std::uint32_t own = kGroups == 2 ? sum[group * rows] : sum[0] + sum[rows];
    return {vreinterpretq_s32_u32(vdupq_n_u32(own)),
            vdupq_n_f32(std::bit_cast<float>(row[CodedPlan::kScaleWord * rows]))};
  }

  /// Adds to four sums; the scales of their outputs are at index `at` of the panel's scales.
  template <bool kHasMinimum>
  [[gnu::always_inline]] void add(const CodedPanel& coded, std::int64_t at, int32x4_t products,
                                  int32x4_t offset, bool begins, float* to) const {
    const int32x4_t total = vmlsq_s32(products, codes_sum, offset);
    float32x4_t value = vmulq_f32(vcvtq_f32_s32(total), vld1q_f32(coded.scales + at));
    if (kHasMinimum) {
      value = vfmaq_f32(value, vcvtq_f32_s32(codes_sum), vld1q_f32(coded.minimums + at));
    }
    const float32x4_t before = begins ? vdupq_n_f32(0) : vld1q_f32(to);
    vst1q_f32(to, vfmaq_f32(before, scale, value));
  }
};

}  // namespace weft::neon

#endif
