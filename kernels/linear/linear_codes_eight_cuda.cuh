#pragma once

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Where a lane's codes of 8 bits lie in boxes of 128 columns: of a half's 64 columns eight of
/// either 32. Odd places take the second 32 first, so that the lanes of two tokens read from
/// different banks; only where both are under one scale, or scales go on weights.
template <int kCodesOfRow, bool kTurns>
struct EightBitPlaces {
  static constexpr int kSteps = 2;
  static constexpr bool kSplitColumns = false;
  static __device__ constexpr int step_of(int /*chunk*/, int turn) { return turn; }

  __device__ EightBitPlaces(const std::byte* box, const Lane& at)
      : first_column(at.half * 64 + 8 * at.place), odd(kTurns ? at.place % 2 : 0) {
    const int row = row_in_box(at);
    const int byte = at.half * 64 + at.place / 2 * 16;
    codes = box + row * kCodesOfRow + CodeBox::code_place(row, byte) + at.place % 2 * 8;
    turned = CodeBox::code_place(row, byte ^ 32) - CodeBox::code_place(row, byte);
  }

  [[nodiscard]] __device__ int turn(int step) const { return step ^ odd; }
  [[nodiscard]] __device__ int column(int step) const { return first_column + 32 * turn(step); }

  __device__ void load(int step, uint2 (&words)[4]) const {
    const std::byte* from = codes + (turn(step) == 0 ? 0 : turned);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = *reinterpret_cast<const uint2*>(from + i * 8 * kCodesOfRow);
    }
  }

  const std::byte* codes;
  int turned;  ///< from the first 32 columns' codes to the second's
  int first_column;
  int odd;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
