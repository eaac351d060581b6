#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/instructions_cuda.cuh"
#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/linear/linear_cut_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// Defines where units of codes lie in shared memory. linear_codes_load_cuda.cuh and
/// linear_codes_fetch_cuda.cuh load them there.
///
/// An encoding is a struct:
///   kColumns      columns of a unit, of which every warp multiplies one half
///   kRowBytes     bytes of an output in a unit
///   kBoxed        whether units are boxes (code_boxes.h), or blocks that a tensor map cuts
///   kSharedBytes  shared memory of a multiprocessor that it may take
///   kFewTokens    the TokenForm for up to kExactTokens tokens
///   place_of(row, piece)
///                 where 16 bytes of a row lie, if rows are fetched
///   kGateDistance rows from a gate to its up in a tile
///   kSwapsTokens  whether more tokens are in the order of token_of(), so that lanes read from
///                 different banks
///   add<Sizes>(weights, inputs, scales, at, sums)
///                 adds a unit's products of a warp's 32 rows and its half of the columns
namespace weft::cuda::codes {

constexpr int kExactTokens = 8;
constexpr int kTileRows = 128;
constexpr int kBoxRows = kTileRows / 2;  // gates and ups come from different rows
static_assert(kBoxRows == CodeBox::kRows);
constexpr int kWarpRows = 32;
constexpr int kRowWarps = kTileRows / kWarpRows;
constexpr int kHalves = 2;  // halves of a unit's columns
constexpr int kHalfThreads = kRowWarps * 32;
constexpr int kProducer = kHalves * kHalfThreads;  // first thread of the warp that loads
constexpr int kThreads = kProducer + 32;
constexpr int kConverter = kThreads;  // first thread of the warp that converts tokens
/// Bytes for the scale of a converted token; 16 keep the following data aligned.
constexpr int kScaleOfTokenBytes = 16;
// Bytes of a row, in which a warp shares the scales that it computes.
constexpr int kScaleBytes = 32;

constexpr int kSwizzleBytes = 1024;        // alignment of swizzled boxes
constexpr int kMaxBlockBytes = 227 << 10;  // the most shared memory of a block
constexpr int kLeastDepth = 3;             // the fewest slots of a ring

/// Named barriers of all threads that multiply; put_together() uses barriers 1 and 2.
constexpr int kFreeBarrier = 3;
constexpr int kStagedBarrier = 4;

/// How tokens are multiplied: as they are, or converted by a warp in shared memory.
enum class TokenForm : std::uint8_t {
  kNumbers,  ///< numbers of bf16
  kHalves,   ///< numbers of f16 (linear_codes_halves_cuda.cuh)
};

template <class Of, int kOf>
struct Layout {
  using Encoding = Of;
  static constexpr int kTokens = kOf;
  static constexpr bool kExact = kTokens <= kExactTokens;
  static constexpr bool kSwizzled = !kExact;
  static constexpr TokenForm kForm = kExact ? Encoding::kFewTokens : TokenForm::kNumbers;
  static constexpr bool kConverts = kForm != TokenForm::kNumbers;
  static constexpr int kThreads = kConverts ? kConverter + 32 : codes::kThreads;
  /// Columns in a box of tokens. A copy with fewer rows is faster. Many tokens are read often: rows
  /// of 128 bytes with the widest swizzle avoid bank conflicts.
  static constexpr int kBoxColumns = kExact ? Encoding::kColumns : 64;
  static constexpr int kBoxBytes = kBoxColumns * 2;  // bytes of a token
  static constexpr int kWeightBytes = kTileRows * Encoding::kRowBytes;
  static constexpr int kTokenBytes = Encoding::kColumns / kBoxColumns * kBoxBytes;
  static constexpr int kInputBytes =
      kTokens * kTokenBytes + (kConverts ? kTokens * kScaleOfTokenBytes : 0);
  static constexpr int kStageBytes =
      (kInputBytes + kWeightBytes + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes;
  static constexpr int kStagedStride = kTileRows + 4;  // no two lanes write to one bank
  static constexpr int kStagedBytes = kTokens * kStagedStride * 4;
  static constexpr int kScalesBytes = kHalves * kTileRows * kScaleBytes;
  static constexpr int kRootsBytes = kTokens * 4;
  static constexpr int kRest =
      kSwizzleBytes + kStagedBytes + kScalesBytes + kRootsBytes + 512;  // with barriers
  /// Returns the slots in the ring of a block with this much shared memory.
  static constexpr int depth_in(int bytes) { return (bytes - kRest) / kStageBytes; }
  static constexpr int depth_of(int blocks) {
    return depth_in(std::min(Encoding::kSharedBytes / blocks, kMaxBlockBytes));
  }
  /// Blocks on a multiprocessor. Two blocks hide each other's waits, and the next product's blocks
  /// fill their rings while this product ends. The registers of many tokens leave room for one.
  static constexpr int kBlocks = kTokens <= 16 && depth_of(2) >= kLeastDepth ? 2 : 1;
  static constexpr int kDepth = depth_of(kBlocks);
  static constexpr int kBytes = kDepth * kStageBytes + kRest;
  static_assert(kDepth >= kLeastDepth);
};

struct CodesProduct {
  Cut cut;
  int tokens;
  int outputs;
  bool gated;
  const std::byte* boxes;
  CutSums meeting;
  unsigned token_tiles;  ///< tiles of the same rows, for many tokens
  bool whole;            ///< each block has one tile; otherwise the cut decides
};

template <class Sizes>
struct Shared {
  __device__ explicit Shared(std::byte* memory, unsigned slots = Sizes::kDepth)
      : depth(slots),
        stages(memory + (kSwizzleBytes - shared_address(memory) % kSwizzleBytes) % kSwizzleBytes),
        staged(reinterpret_cast<float*>(stages + depth * Sizes::kStageBytes)),
        scales(reinterpret_cast<std::byte*>(staged) + Sizes::kStagedBytes),
        roots(reinterpret_cast<float*>(scales + Sizes::kScalesBytes)),
        full(reinterpret_cast<Barrier*>(roots + Sizes::kTokens)),
        empty(full + depth),
        rows_full(Sizes::kConverts ? empty + depth : full),
        ready(rows_full + depth) {}

  __device__ std::byte* inputs(unsigned slot) const { return stages + slot * Sizes::kStageBytes; }
  __device__ std::byte* weights(unsigned slot) const { return inputs(slot) + Sizes::kInputBytes; }

  unsigned depth;  ///< slots of the ring
  std::byte* stages;
  float* staged;       ///< [kTokens, kStagedStride]
  std::byte* scales;   ///< by warp, [kWarpRows] of kScaleBytes
  float* roots;        ///< [kTokens], of NormBefore
  Barrier* full;       ///< by slot: the unit is loaded
  Barrier* empty;      ///< by slot: all warps have read the unit
  Barrier* rows_full;  ///< by slot: the tokens are loaded
  Barrier* ready;      ///< by slot, if tokens are converted: the conversion is done
};

/// Returns the token at a place among a quad's eight. If the encoding asks for it, bits 0 and 1 of
/// the place are swapped.
template <class Sizes>
__device__ constexpr int token_of(int place) {
  if constexpr (Sizes::kExact || !Sizes::Encoding::kSwapsTokens) return place;
  return (place & 4) | (place & 1) << 1 | (place >> 1 & 1);
}

/// Returns where the 16 bytes number `piece` of a few-tokens box lie in a token's part. Converted
/// tokens lie such that the lanes of two tokens read from different banks.
template <class Sizes>
__device__ constexpr int piece_of(int piece, int token) {
  if constexpr (Sizes::kForm == TokenForm::kHalves) return piece ^ (token & 1) << 2;
  return piece;
}

/// A lane's position in its warp, and its warp's position among a unit's rows and columns.
struct Lane {
  __device__ Lane()
      : half(threadIdx.x / kHalfThreads),
        first_row(threadIdx.x / 32 % kRowWarps * kWarpRows),
        own(threadIdx.x % 32),
        quad(threadIdx.x % 32 / 4),
        place(threadIdx.x % 4) {}

  /// Returns the offset of the quad's token at `column`, which is a multiple of 8, or of 4 for few
  /// tokens.
  template <class Sizes>
  __device__ int input(int column) const {
    const int token = token_of<Sizes>(quad);
    if constexpr (Sizes::kExact) {
      return token * Sizes::kBoxBytes + piece_of<Sizes>(column / 8, token) * 16 + column % 8 * 2;
    }
    return column / 64 * (Sizes::kTokens * Sizes::kBoxBytes) + token * Sizes::kBoxBytes +
           ((column / 8 % 8) ^ token) * 16;
  }

  int half;
  int first_row;
  int own;
  int quad;   ///< index of the lane's quad: it has rows and tokens quad, quad + 8, ...
  int place;  ///< the lane's index in its quad, which selects columns
};

template <class Sizes>
using Sums = float[2][Sizes::kTokens / 8][4];  ///< by 16 rows and 8 tokens

/// Returns two numbers of bf16 in a register.
__device__ inline std::uint32_t bits_of(__nv_bfloat162 two) {
  return reinterpret_cast<const std::uint32_t&>(two);
}
__device__ inline __nv_bfloat162 two_of(std::uint32_t bits) {
  return reinterpret_cast<const __nv_bfloat162&>(bits);
}
__device__ inline std::uint32_t minus(std::uint32_t a, std::uint32_t b) {
  return bits_of(__hsub2(two_of(a), two_of(b)));
}
__device__ inline std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  return bits_of(__hmul2(two_of(a), two_of(b)));
}
/// Returns a number in both halves, as bf16.
__device__ inline std::uint32_t twice(float number) {
  return bits_of(__float2bfloat162_rn(number));
}

/// Converts four bytes, each below 128, to 128 + byte in bf16, in order.
__device__ inline void four_bytes(std::uint32_t bytes, std::uint32_t& first,
                                  std::uint32_t& second) {
  first = __byte_perm(bytes, 0x43434343U, 0x4140);
  second = __byte_perm(bytes, 0x43434343U, 0x4342);
}

/// Converts the lower or upper four bits of four bytes to 128 + code.
__device__ inline void four_codes(std::uint32_t word, int upper, std::uint32_t& first,
                                  std::uint32_t& second) {
  four_bytes(word >> 4 * upper & 0x0f0f0f0fU, first, second);
}

}  // namespace weft::cuda::codes
