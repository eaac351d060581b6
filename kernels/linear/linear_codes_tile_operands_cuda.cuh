#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_tile_ring_cuda.cuh"

/// Weights of kCodes for many tokens as operands of `wgmma`, in registers.
///
/// Each lane makes an Encoding::Operands for each unit:
///   Operands(unit, scales, at)  `unit` has the tile's rows, `scales` is the warp's own
///   load(chunk, to)             the operands of a chunk of 64 columns, called chunk by chunk
namespace weft::cuda::codes {

constexpr int kChunkSteps = kChunkColumns / 16;  // products of 16 columns
constexpr int kOperandRows = 16;                 // rows of a warp

/// The operands of each product of a chunk: columns 2 * place and the next, of rows quad and quad +
/// 8; then the two columns 8 further of these rows.
using ChunkOperands = std::uint32_t[kChunkSteps][4];

/// A lane's position among a tile's rows and in a product's columns.
struct OperandLane {
  __device__ OperandLane()
      : first_row(static_cast<int>(threadIdx.x) / 32 * kOperandRows),
        own(static_cast<int>(threadIdx.x % 32)),
        quad(own / 4),
        place(own % 4) {}

  [[nodiscard]] __device__ int row() const { return first_row + quad; }

  int first_row;  ///< the warp's first row
  int own;
  int quad;
  int place;
};

/// The box that holds a lane's rows.
template <int kRowBytes>
struct OperandBox {
  __device__ OperandBox(const std::byte* unit, const OperandLane& at)
      : box(unit + at.row() / kBoxRows * (kBoxRows * kRowBytes)), row(at.row() % kBoxRows) {}

  const std::byte* box;
  int row;  ///< the lane's other row is 8 further
};

/// Loads two contiguous bytes.
__device__ inline std::uint32_t two_bytes(const std::byte* at) {
  return *reinterpret_cast<const std::uint16_t*>(at);
}

/// Puts each of two bytes into its own half of a register.
__device__ inline std::uint32_t spread(std::uint32_t bytes) {
  return __byte_perm(bytes, 0, 0x4140);
}

__device__ inline std::uint32_t fma_of(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return bits_of(__hfma2(two_of(a), two_of(b), two_of(c)));
}

/// A number in f32 as the sum of two numbers of bf16, each in both halves of a register.
struct SplitScale {
  SplitScale() = default;
  __device__ explicit SplitScale(float scale) : upper(twice(scale)) {
    lower = twice(scale - __uint_as_float(upper << 16U));
  }
  /// Returns two numbers times the scale, rounded to bf16.
  [[nodiscard]] __device__ std::uint32_t on(std::uint32_t numbers) const {
    return fma_of(numbers, upper, times(numbers, lower));
  }

  std::uint32_t upper = 0;
  std::uint32_t lower = 0;
};

/// Read as bf16, a byte is the byte times 2^-133, since numbers below the smallest normal number
/// have no hidden bit. Multiplying by these constants gives the byte over 64: kBytesOver64 for a
/// byte or its lower half, kUppersOver64 for its upper four bits.
constexpr std::uint32_t kBytesOver64 = 0x7f007f00U;   // 2^127 in both halves
constexpr std::uint32_t kUppersOver64 = 0x7d007d00U;  // 2^123 in both halves
constexpr std::uint32_t kMinusOver64 = 0xff00ff00U;   // -2^127 in both halves

}  // namespace weft::cuda::codes
