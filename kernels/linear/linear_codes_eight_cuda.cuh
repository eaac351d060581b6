#pragma once

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {

/// Where a lane's codes of 8 bits lie in boxes of 128 columns: eight in each 32 of a half's 64
/// columns. With kTurns, odd places take the second 32 columns first, so that the lanes of two
/// tokens read from different banks. This is valid only if both 32 are under one scale, or if
/// scales go on weights.
template <int kCodesOfRow, bool kTurns>
struct EightBitPlaces {
  static constexpr int kSteps = 2;
  static constexpr bool kSplitColumns = false;

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
  int turned;  ///< offset from the first 32 columns' codes to the second's
  int first_column;
  int odd;
};

/// A lane's codes of 8 bits as operands (linear_codes_tile_operands_cuda.cuh).
template <int kCodesOfRow, int kRowBytes>
class EightBitOperands {
 protected:
  __device__ EightBitOperands(const std::byte* unit, const OperandLane& at)
      : EightBitOperands(OperandBox<kRowBytes>(unit, at), at.place) {}

  /// Makes the operands of a chunk with make(bytes, step, row), where `bytes` are two codes of the
  /// lane's first or second row.
  template <class Make>
  __device__ void each_two(int chunk, ChunkOperands& to, const Make& make) const {
    std::uint32_t bytes[kChunkSteps][4];
#pragma unroll
    for (int step = 0; step < kChunkSteps; ++step) {
      const std::byte* from = codes_ + ((chunk * kChunkSteps + step) * 16 ^ turned_);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        bytes[step][i] = two_bytes(from + i % 2 * (8 * kCodesOfRow) + i / 2 * 8);
      }
    }
#pragma unroll
    for (int step = 0; step < kChunkSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to[step][i] = make(bytes[step][i], step, i % 2);
    }
  }

  const std::byte* box_;
  int row_;

 private:
  __device__ EightBitOperands(const OperandBox<kRowBytes>& of, int place)
      : box_(of.box),
        row_(of.row),
        codes_(of.box + of.row * kCodesOfRow + 2 * place),
        turned_(CodeBox::code_place(of.row, 0)) {}

  const std::byte* codes_;
  int turned_;  ///< mask that maps an offset to its place: a row's pieces of 16 bytes are permuted
};

}  // namespace weft::cuda::codes
