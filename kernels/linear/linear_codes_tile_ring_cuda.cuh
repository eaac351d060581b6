#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_load_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// The shared memory of a thread block of kCodes for many tokens, and its loaders. It has units of
/// packed weights, and chunks of 64 columns of unpacked weights and of tokens.
namespace weft::cuda::codes {

constexpr int kChunkColumns = 64;  // 128 bytes, the widest swizzle
constexpr int kChunkRowBytes = kChunkColumns * 2;
constexpr int kChunkBytes = kTileRows * kChunkRowBytes;
constexpr int kMultipliers = 256;
constexpr int kUnpackers = kHalves * kHalfThreads;  // the first threads
constexpr int kTileThreads = kUnpackers + kMultipliers;

template <class Of, int kOf>
struct TileLayout {
  using Encoding = Of;
  static constexpr int kTokens = kOf;
  static constexpr int kSlots = 4;  // chunks, unpacked or multiplied
  static constexpr bool kSwizzled = true;
  static constexpr int kBoxColumns = kChunkColumns;
  static constexpr int kUnitChunks = Encoding::kColumns / kChunkColumns;
  static constexpr int kHalfChunks = kUnitChunks / kHalves;
  static constexpr int kWeightBytes =
      (kTileRows * Encoding::kRowBytes + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes;
  static constexpr int kInputBytes = kTokens * kChunkRowBytes;
  static constexpr int kSlotBytes = kChunkBytes + kInputBytes;
  static constexpr int kStagedTokens = 32;
  static constexpr int kStagedStride = kTileRows + 4;  // no two lanes write to one bank
  static constexpr int kStagedBytes = kStagedTokens * kStagedStride * 4;
  static constexpr int kScalesBytes = kHalves * kTileRows * kScaleBytes;
  static constexpr int kRest = kSwizzleBytes + kStagedBytes + kScalesBytes + 512;  // with barriers
  static constexpr int kDepth = std::min(
      (kMaxBlockBytes - kRest - kSlots * kSlotBytes) / kWeightBytes, 8);  // units on their way
  static constexpr int kBytes = kSlots * kSlotBytes + kDepth * kWeightBytes + kRest;
  static_assert(kDepth >= 2);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Sizes>
struct TileShared {
  __device__ explicit TileShared(std::byte* memory)
      : slots(memory + (kSwizzleBytes - shared_address(memory) % kSwizzleBytes) % kSwizzleBytes),
        units(slots + Sizes::kSlots * Sizes::kSlotBytes),
        staged(reinterpret_cast<float*>(units + Sizes::kDepth * Sizes::kWeightBytes)),
        scales(reinterpret_cast<std::byte*>(staged) + Sizes::kStagedBytes),
        full(reinterpret_cast<Barrier*>(scales + Sizes::kScalesBytes)),
        empty(full + Sizes::kSlots),
        unit_full(empty + Sizes::kSlots),
        unit_empty(unit_full + Sizes::kDepth) {}

  __device__ std::byte* chunk(unsigned slot) const { return slots + slot * Sizes::kSlotBytes; }
  __device__ std::byte* inputs(unsigned slot) const { return chunk(slot) + kChunkBytes; }
  __device__ std::byte* unit(unsigned slot) const { return units + slot * Sizes::kWeightBytes; }

  __device__ void init_barriers() const {
    for (int slot = 0; slot < Sizes::kSlots; ++slot) {
      init_barrier(&full[slot], kRowWarps + 1);  // a half's warps, and the copy of the tokens
      init_barrier(&empty[slot], kMultipliers / 32);
    }
    for (int slot = 0; slot < Sizes::kDepth; ++slot) {
      init_barrier(&unit_full[slot], 1);
      init_barrier(&unit_empty[slot], kUnpackers / 32);
    }
    publish_barriers();
  }

  std::byte* slots;     ///< a chunk [kTileRows, kChunkColumns], its tokens [kTokens, kChunkColumns]
  std::byte* units;     ///< packed weights
  float* staged;        ///< [kStagedTokens, kStagedStride]
  std::byte* scales;    ///< each warp has [kWarpRows] of kScaleBytes
  Barrier* full;        ///< one a slot: its chunk and tokens have come
  Barrier* empty;       ///< one a slot: its chunk has been multiplied
  Barrier* unit_full;   ///< one a unit's slot: the unit is loaded
  Barrier* unit_empty;  ///< one a unit's slot: all warps have unpacked it
};

/// A place in a ring of kOf slots. Barriers of empty slots are waited for with the other parity,
/// which lets the first round through.
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

/// Loads units from memory. Owned by one thread.
template <class Sizes>
class UnitLoader {
 public:
  __device__ UnitLoader(const TileShared<Sizes>& shared, const CodesProduct& product,
                        const CUtensorMap* map)
      : shared_(shared),
        product_(product),
        map_(map),
        tile_(first_of(product.cut, blockIdx.x) / product.cut.tile_units),
        column_(first_of(product.cut, blockIdx.x) % product.cut.tile_units),
        left_(first_of(product.cut, blockIdx.x + 1) - first_of(product.cut, blockIdx.x)) {}

  __device__ void fill() {
    for (unsigned slot = 0; slot < Sizes::kDepth; ++slot) load(slot);
  }

  /// Once the slot is empty.
  __device__ void load(unsigned slot) {
    if (left_ == 0) return;
    --left_;
    load_weights<Sizes>(product_, map_, tile_, column_, shared_.unit(slot),
                        &shared_.unit_full[slot], 0);  // tokens have barriers of their own
    if (++column_ < product_.cut.tile_units) return;
    column_ = 0;
    ++tile_;
  }

 private:
  const TileShared<Sizes>& shared_;
  const CodesProduct& product_;
  const CUtensorMap* map_;
  unsigned tile_;
  unsigned column_;
  unsigned left_;
};

/// Loads chunks of tokens from memory. Owned by one thread.
template <class Sizes>
class InputLoader {
 public:
  __device__ InputLoader(const TileShared<Sizes>& shared, const Cut& cut, const CUtensorMap* map)
      : shared_(shared),
        map_(map),
        chunk_(first_of(cut, blockIdx.x) % cut.tile_units * Sizes::kUnitChunks),
        end_(cut.tile_units * Sizes::kUnitChunks),
        left_((first_of(cut, blockIdx.x + 1) - first_of(cut, blockIdx.x)) * Sizes::kUnitChunks) {}

  __device__ void fill() {
    for (unsigned slot = 0; slot < Sizes::kSlots; ++slot) load(slot);
  }

  /// Once the slot is empty.
  __device__ void load(unsigned slot) {
    if (left_ == 0) return;
    --left_;
    arrive_expecting(&shared_.full[slot], Sizes::kInputBytes);
    copy_box(shared_.inputs(slot), map_, static_cast<int>(chunk_) * kChunkColumns, 0,
             &shared_.full[slot], CacheHint::kEvictLast);
    if (++chunk_ == end_) chunk_ = 0;
  }

  [[nodiscard]] __device__ bool has_more() const { return left_ > 0; }

 private:
  const TileShared<Sizes>& shared_;
  const CUtensorMap* map_;
  unsigned chunk_;
  unsigned end_;
  unsigned left_;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
