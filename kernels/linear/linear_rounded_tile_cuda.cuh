#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/hopper_cuda.cuh"
#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/linear/linear_cut_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Shared memory, work and loaders of a thread block of kRounded. A block has tiles of 128 outputs
/// and kTokens tokens. A unit of a tile is 128 columns: two boxes of weights (code_boxes.h), the
/// tokens' codes, and the scales of both. The boxes' codes are operands of `wgmma` as they lie.
namespace weft::cuda::rounded {

constexpr int kTileRows = 128;
// Rows of a warpgroup; gates and ups come from different rows.
constexpr int kBoxRows = kTileRows / 2;
static_assert(kBoxRows == CodeBox::kRows);
constexpr int kUnitColumns = 128;
constexpr int kBoxCodes = kBoxRows * kUnitColumns;  // bytes
constexpr int kBoxScales = kBoxRows * 4;
constexpr int kBoxBytes = kBoxCodes + kBoxScales;
static_assert(box_of(DType::kF8_128).bytes() == kBoxBytes);
static_assert(box_of(DType::kF8_256).bytes() == kBoxBytes);

constexpr int kMultipliers = 256;                // the first threads, two warpgroups
constexpr int kWeightThread = kMultipliers;      // loads boxes
constexpr int kTokenThread = kMultipliers + 32;  // loads tokens
constexpr int kThreads = kMultipliers + 128;     // whole warpgroups share registers
constexpr int kSwizzleBytes = 1024;              // alignment of operands
constexpr int kMaxBlockBytes = 227 << 10;        // the most shared memory of a block

/// The blocks of a cluster of two take tiles of the same tokens and of consecutive rows. Each block
/// loads half of the tokens to both, so that tokens are read half as often from the second-level
/// cache.
template <int kOf, int kOfBlocks>
struct Layout {
  static constexpr int kTokens = kOf;
  static constexpr int kBlocks = kOfBlocks;          ///< blocks of a cluster
  static constexpr int kLoaded = kTokens / kBlocks;  ///< tokens that a block loads
  static constexpr int kPass = std::min(kOf, 128);   ///< tokens that are multiplied at once
  static constexpr int kTokenBytes = kTokens * kUnitColumns;
  static constexpr int kStageBytes = 2 * kBoxCodes + kTokenBytes;
  static constexpr int kScaleBytes = 2 * kBoxScales + kTokens * 4;
  static constexpr int kStagedTokens = 32;
  static constexpr int kStagedStride = kTileRows + 4;  // no two lanes write to one bank
  static constexpr int kStagedBytes = kStagedTokens * kStagedStride * 4;
  static constexpr int kRest = kSwizzleBytes + kStagedBytes + 256;  // with barriers
  static constexpr int kDepth =
      std::min((kMaxBlockBytes - kRest) / (kStageBytes + kScaleBytes), 10);
  static_assert(kLoaded * kUnitColumns % kSwizzleBytes == 0);
  static constexpr int kBytes = kDepth * (kStageBytes + kScaleBytes) + kRest;
  static_assert(kDepth >= 3 && kDepth * 2 * 8 <= 256);
};

struct Product {
  Cut cut;
  CutSums meeting;
  const std::byte* boxes;
  const float* token_scales;  ///< RoundedRows::scales
  unsigned padded;            ///< RoundedRows::padded
  int tokens;
  int outputs;
  bool gated;
  unsigned token_tiles;  ///< tiles of the same rows
  bool whole;            ///< blocks take whole tiles in turn; otherwise the cut decides
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Sizes>
struct Shared {
  __device__ explicit Shared(std::byte* memory)
      : stages(memory + (kSwizzleBytes - shared_address(memory) % kSwizzleBytes) % kSwizzleBytes),
        scales(stages + Sizes::kDepth * Sizes::kStageBytes),
        staged(reinterpret_cast<float*>(scales + Sizes::kDepth * Sizes::kScaleBytes)),
        full(reinterpret_cast<Barrier*>(staged + Sizes::kStagedBytes / 4)),
        empty(full + Sizes::kDepth) {}

  __device__ std::byte* codes(unsigned slot) const { return stages + slot * Sizes::kStageBytes; }
  __device__ std::byte* tokens(unsigned slot) const { return codes(slot) + 2 * kBoxCodes; }
  __device__ float* weight_scales(unsigned slot) const {
    return reinterpret_cast<float*>(scales + slot * Sizes::kScaleBytes);
  }
  __device__ float* token_scales(unsigned slot) const { return weight_scales(slot) + kTileRows; }

  __device__ void init_barriers() const {
    for (int slot = 0; slot < Sizes::kDepth; ++slot) {
      init_barrier(&full[slot], 2);  // both loaders arrive
      init_barrier(&empty[slot], Sizes::kBlocks * kMultipliers / 32);
    }
    publish_barriers();
  }

  std::byte* stages;  ///< codes of two boxes, then tokens [kTokens, kUnitColumns]
  std::byte* scales;  ///< scales of the rows of two boxes, then of the tokens
  float* staged;      ///< [kStagedTokens, kStagedStride]
  Barrier* full;      ///< by slot: it is loaded
  Barrier* empty;     ///< by slot: it has been multiplied
};

/// A position in the ring. A wait for an empty slot uses the other parity, which lets the first
/// round through.
template <class Sizes>
struct RingPlace {
  __device__ void advance() {
    if (++slot < Sizes::kDepth) return;
    slot = 0;
    parity ^= 1U;
  }

  unsigned slot = 0;
  unsigned parity = 0;
};

/// The units of one tile that a block multiplies.
struct Part {
  unsigned tile;
  unsigned begin;  ///< the first unit in the tile
  unsigned end;
};

/// Returns a block's parts, one after the other. Tiles of the same rows are contiguous, so blocks
/// that run at once share rows and tokens in the second-level cache.
template <class Sizes>
class Parts {
 public:
  __device__ explicit Parts(const Product& product)
      : units_(product.cut.tile_units),
        tiles_(product.cut.units / units_),
        token_tiles_(product.token_tiles),
        whole_(product.whole),
        at_(whole_ ? blockIdx.x / kBlocks : first_of(product.cut, blockIdx.x)),
        end_(whole_ ? clusters_of(tiles_) : first_of(product.cut, blockIdx.x + 1)) {}

  __device__ bool next(Part& part) {
    if (at_ >= end_) return false;
    if (whole_) {
      const unsigned rows = at_ / token_tiles_ * kBlocks + blockIdx.x % kBlocks;
      part = {rows * token_tiles_ + at_ % token_tiles_, 0, units_};
      at_ += gridDim.x / kBlocks;
      return true;
    }
    const unsigned tile = at_ / units_;
    part = {tile, at_ - tile * units_, min(units_, end_ - tile * units_)};
    at_ = tile * units_ + part.end;
    return true;
  }

 private:
  static constexpr unsigned kBlocks = Sizes::kBlocks;

  /// Returns the number of tiles' clusters. If the number of row tiles is odd, the last cluster has
  /// one block whose rows are past the matrix's end.
  [[nodiscard]] __device__ unsigned clusters_of(unsigned tiles) const {
    return (tiles / token_tiles_ + kBlocks - 1) / kBlocks * token_tiles_;
  }

  unsigned units_;
  unsigned tiles_;
  unsigned token_tiles_;
  bool whole_;
  unsigned at_;  ///< index of a cluster if tiles are whole, otherwise of a unit
  unsigned end_;
};

/// The position of a tile.
template <class Sizes>
struct TilePlace {
  __device__ TilePlace(const Product& product, unsigned tile)
      : rows(tile / product.token_tiles),
        first_token(static_cast<int>(tile % product.token_tiles) * Sizes::kTokens),
        tokens(min(product.tokens - first_token, Sizes::kTokens)) {}

  unsigned rows;  ///< index of its block of kTileRows rows
  int first_token;
  int tokens;
};

/// Loads a block's boxes. Called by one thread.
template <class Sizes>
__device__ void load_weights(const Shared<Sizes>& shared, const Product& product,
                             const CUtensorMap* map) {
  // Other tiles of tokens read these rows too, so the rows stay in the cache.
  const CacheHint hint = product.token_tiles > 1 ? CacheHint::kEvictLast : CacheHint::kEvictFirst;
  const auto boxes = static_cast<unsigned>(product.outputs) / kBoxRows;
  const unsigned units = product.cut.tile_units;
  Parts<Sizes> parts(product);
  RingPlace<Sizes> place;
  for (Part part; parts.next(part);) {
    const unsigned rows = TilePlace<Sizes>(product, part.tile).rows;
    const unsigned first = product.gated ? rows : 2 * rows;
    const unsigned second = product.gated ? boxes + rows : 2 * rows + 1;
    const bool has_first = first < boxes;
    const bool has_second = product.gated ? has_first : second < boxes;
    for (unsigned unit = part.begin; unit < part.end; ++unit) {
      Barrier* full = &shared.full[place.slot];
      wait(&shared.empty[place.slot], place.parity ^ 1U);
      arrive_expecting(full, (has_first + has_second) * kBoxBytes);
      const auto copy = [&](int half, unsigned row_of_boxes) {
        const unsigned box = row_of_boxes * units + unit;
        copy_deep_box(shared.codes(place.slot) + half * kBoxCodes, map, static_cast<int>(box), full,
                      hint);
        copy_bytes(shared.weight_scales(place.slot) + half * kBoxRows,
                   product.boxes + std::size_t{box} * kBoxBytes + kBoxCodes, kBoxScales, full,
                   hint);
      };
      if (has_first) copy(0, first);
      if (has_second) copy(1, second);
      place.advance();
    }
  }
}

/// Loads a block's tokens. Called by one thread.
template <class Sizes>
__device__ void load_tokens(const Shared<Sizes>& shared, const Product& product,
                            const CUtensorMap* map) {
  Parts<Sizes> parts(product);
  RingPlace<Sizes> place;
  for (Part part; parts.next(part);) {
    const int token = TilePlace<Sizes>(product, part.tile).first_token;
    for (unsigned unit = part.begin; unit < part.end; ++unit) {
      Barrier* full = &shared.full[place.slot];
      wait(&shared.empty[place.slot], place.parity ^ 1U);
      arrive_expecting(full, Sizes::kTokenBytes + Sizes::kTokens * 4);
      const int column = static_cast<int>(unit) * kUnitColumns;
      if constexpr (Sizes::kBlocks == 1) {
        copy_box(shared.tokens(place.slot), map, column, token, full, CacheHint::kEvictLast);
      } else {
        const int own = static_cast<int>(blockIdx.x) % Sizes::kBlocks * Sizes::kLoaded;
        copy_box_to_both(shared.tokens(place.slot) + own * kUnitColumns, map, column, token + own,
                         full, CacheHint::kEvictLast);
      }
      copy_bytes(shared.token_scales(place.slot),
                 product.token_scales + std::size_t{unit} * product.padded + token,
                 Sizes::kTokens * 4, full, CacheHint::kEvictLast);
      place.advance();
    }
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::rounded
