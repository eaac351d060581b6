#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_load_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// The shared memory of a thread block of kCodes for many tokens, and its loaders: a ring of units
/// of packed weights, and a ring of chunks of 64 columns of tokens.
namespace weft::cuda::codes {

constexpr int kChunkColumns = 64;  // 128 bytes, the widest swizzle
constexpr int kChunkRowBytes = kChunkColumns * 2;
constexpr int kMultipliers = 256;                 // the first threads: each warp has 16 rows
constexpr int kUnitThread = kMultipliers;         // loads units
constexpr int kInputThread = kMultipliers + 32;   // loads tokens
constexpr int kTileThreads = kMultipliers + 128;  // whole warpgroups share registers
constexpr int kWarpScaleBytes = 1024;  // bytes in which a warp shares the scales that it computes

template <class Of, int kOf>
struct TileLayout {
  using Encoding = Of;
  static constexpr int kTokens = kOf;
  static constexpr int kSlots = kOf <= 64 ? 8 : 4;  // chunks of tokens
  static constexpr bool kSwizzled = true;
  static constexpr int kBoxColumns = kChunkColumns;
  static constexpr int kUnitChunks = Encoding::kColumns / kChunkColumns;
  static constexpr int kWeightBytes =
      (kTileRows * Encoding::kRowBytes + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes;
  static constexpr int kInputBytes = kTokens * kChunkRowBytes;
  /// Whether sums are staged in the rings' memory, possible if a block has one tile. Then all
  /// tokens' sums are staged at once, so threads wait only once for each other and for many
  /// residuals.
  static constexpr bool kStagesInRings = kOf > kMaxFlatTokens;
  static constexpr int kStagedStride = kTileRows + 4;  // no two lanes write to one bank
  static constexpr int kStagedBytes = kTokens * kStagedStride * 4;
  static constexpr int kScalesBytes = kMultipliers / 32 * kWarpScaleBytes;
  static constexpr int kRootsBytes = kTokens * 4;
  static constexpr int kRest =
      kSwizzleBytes + (kStagesInRings ? 0 : kStagedBytes) + kScalesBytes + kRootsBytes + 512;
  static constexpr int kDepth = std::min(
      (kMaxBlockBytes - kRest - kSlots * kInputBytes) / kWeightBytes, 8);  // units in flight
  static constexpr int kBytes = kSlots * kInputBytes + kDepth * kWeightBytes + kRest;
  static_assert(kDepth >= 2);
  static_assert(!kStagesInRings || kStagedBytes <= kSlots * kInputBytes + kDepth * kWeightBytes);
  static_assert(kUnitChunks % 2 == 0);  // operands of two chunks alternate
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Sizes>
struct TileShared {
  __device__ explicit TileShared(std::byte* memory)
      : slots(memory + (kSwizzleBytes - shared_address(memory) % kSwizzleBytes) % kSwizzleBytes),
        units(slots + Sizes::kSlots * Sizes::kInputBytes),
        staged(reinterpret_cast<float*>(Sizes::kStagesInRings ? slots : behind_units())),
        scales(behind_units() + (Sizes::kStagesInRings ? 0 : Sizes::kStagedBytes)),
        roots(reinterpret_cast<float*>(scales + Sizes::kScalesBytes)),
        full(reinterpret_cast<Barrier*>(roots + Sizes::kTokens)),
        empty(full + Sizes::kSlots),
        unit_full(empty + Sizes::kSlots),
        unit_empty(unit_full + Sizes::kDepth) {}

  __device__ std::byte* inputs(unsigned slot) const { return slots + slot * Sizes::kInputBytes; }
  __device__ std::byte* unit(unsigned slot) const { return units + slot * Sizes::kWeightBytes; }

  __device__ void init_barriers() const {
    for (int slot = 0; slot < Sizes::kSlots; ++slot) {
      init_barrier(&full[slot], 1);
      init_barrier(&empty[slot], kMultipliers / 32);
    }
    for (int slot = 0; slot < Sizes::kDepth; ++slot) {
      init_barrier(&unit_full[slot], 1);
      init_barrier(&unit_empty[slot], kMultipliers / 32);
    }
    publish_barriers();
  }

  __device__ std::byte* behind_units() const { return units + Sizes::kDepth * Sizes::kWeightBytes; }

  std::byte* slots;     ///< tokens [kTokens, kChunkColumns]
  std::byte* units;     ///< packed weights
  float* staged;        ///< [kTokens, kStagedStride]
  std::byte* scales;    ///< kWarpScaleBytes for each warp
  float* roots;         ///< [kTokens], of NormBefore
  Barrier* full;        ///< by slot: the tokens are loaded
  Barrier* empty;       ///< by slot: the tokens have been multiplied
  Barrier* unit_full;   ///< by slot of a unit: the unit is loaded
  Barrier* unit_empty;  ///< by slot of a unit: all warps have read the unit
};

/// A position in a ring of kOf slots. A wait for an empty slot uses the other parity, which lets
/// the first round through.
template <unsigned kOf>
struct RingPlace {
  __device__ explicit RingPlace(unsigned count = 0) : slot(count % kOf), parity(count / kOf % 2) {}
  __device__ void advance(unsigned by = 1) {
    slot += by;
    if (slot < kOf) return;
    slot -= kOf;
    parity ^= 1U;
  }

  unsigned slot;
  unsigned parity;
};

/// Returns the index of a block's first unit.
__device__ inline unsigned first_unit(const CodesProduct& product, unsigned block) {
  return product.whole ? block * product.cut.tile_units : first_of(product.cut, block);
}

/// The position of a tile. Tiles of the same rows are contiguous.
template <class Sizes>
struct TilePlace {
  __device__ TilePlace(const CodesProduct& product, unsigned tile)
      : rows(tile / product.token_tiles),
        first_token(static_cast<int>(tile % product.token_tiles) * Sizes::kTokens),
        tokens(min(product.tokens - first_token, Sizes::kTokens)) {}

  unsigned rows;  ///< index of its block of kTileRows rows
  int first_token;
  int tokens;
};

/// Loads a block's units of weights. Called by one thread.
template <class Sizes>
__device__ void load_units(const TileShared<Sizes>& shared, const CodesProduct& product,
                           const CUtensorMap* map) {
  const Cut& cut = product.cut;
  const unsigned first = first_unit(product, blockIdx.x);
  const unsigned count = first_unit(product, blockIdx.x + 1) - first;
  unsigned tile = first / cut.tile_units;
  unsigned column = first % cut.tile_units;
  RingPlace<Sizes::kDepth> place;
  for (unsigned i = 0; i < count; ++i) {
    wait(&shared.unit_empty[place.slot], place.parity ^ 1U);
    load_weights<Sizes>(product, map, TilePlace<Sizes>(product, tile).rows, column,
                        shared.unit(place.slot), &shared.unit_full[place.slot],
                        0);  // tokens have their own barriers
    place.advance();
    if (++column < cut.tile_units) continue;
    column = 0;
    ++tile;
  }
}

/// Loads a block's chunks of tokens. Called by one thread.
template <class Sizes>
__device__ void load_chunks(const TileShared<Sizes>& shared, const CodesProduct& product,
                            const CUtensorMap* map) {
  const Cut& cut = product.cut;
  const unsigned first = first_unit(product, blockIdx.x);
  const unsigned count = (first_unit(product, blockIdx.x + 1) - first) * Sizes::kUnitChunks;
  const unsigned end = cut.tile_units * Sizes::kUnitChunks;
  unsigned chunk = first % cut.tile_units * Sizes::kUnitChunks;
  unsigned tile = first / cut.tile_units;
  int token = TilePlace<Sizes>(product, tile).first_token;
  RingPlace<Sizes::kSlots> place;
  for (unsigned i = 0; i < count; ++i) {
    wait(&shared.empty[place.slot], place.parity ^ 1U);
    arrive_expecting(&shared.full[place.slot], Sizes::kInputBytes);
    const int column = static_cast<int>(chunk) * kChunkColumns;
    copy_box(shared.inputs(place.slot), map, column, token, &shared.full[place.slot],
             CacheHint::kEvictLast);
    place.advance();
    if (++chunk < end) continue;
    chunk = 0;
    token = TilePlace<Sizes>(product, ++tile).first_token;
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
