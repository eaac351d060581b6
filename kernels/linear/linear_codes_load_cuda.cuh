#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/hopper_cuda.cuh"
#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// The thread of kCodes that loads weights and tokens to shared memory.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Loads the two boxes of a tile's rows in a unit of columns. The barrier also expects `beside`
/// bytes of other copies.
template <class Sizes>
__device__ void load_weights(const CodesProduct& product, const CUtensorMap* map, unsigned tile,
                             unsigned column, std::byte* to, Barrier* full, std::uint32_t beside) {
  constexpr int kRowBytes = Sizes::Encoding::kRowBytes;
  constexpr int kBytes = kBoxRows * kRowBytes;
  if constexpr (Sizes::Encoding::kBoxed) {
    const auto boxes = static_cast<unsigned>(product.outputs) / kBoxRows;
    const unsigned first = product.gated ? tile : 2 * tile;
    const unsigned second = product.gated ? boxes + tile : 2 * tile + 1;
    const bool has_second = product.gated || second < boxes;
    arrive_expecting(full, beside + (has_second ? 2 : 1) * kBytes);
    const auto copy = [&](std::byte* place, unsigned box) {
      copy_bytes(place,
                 product.boxes + (std::size_t{box} * product.cut.tile_units + column) * kBytes,
                 kBytes, full, CacheHint::kEvictFirst);
    };
    copy(to, first);
    if (has_second) copy(to + kBytes, second);
  } else {
    arrive_expecting(full, beside + 2 * kBytes);
    const int row = static_cast<int>(tile) * (product.gated ? kBoxRows : kTileRows);
    const int next = product.gated ? row + product.outputs : row + kBoxRows;
    const int at = static_cast<int>(column) * kRowBytes;
    copy_box(to, map, at, row, full, CacheHint::kEvictFirst);
    copy_box(to + kBytes, map, at, next, full, CacheHint::kEvictFirst);
  }
}

/// Loads the tokens' numbers of a unit that begins at column `first`.
template <class Sizes>
__device__ void load_tokens(const Shared<Sizes>& shared, const CUtensorMap* map, unsigned slot,
                            int first) {
  Barrier* full = &shared.rows_full[slot];
  if constexpr (Sizes::kConverts) arrive_expecting(full, Sizes::kTokens * Sizes::kTokenBytes);
#pragma unroll
  for (int box = 0; box < Sizes::Encoding::kColumns / Sizes::kBoxColumns; ++box) {
    copy_box(shared.inputs(slot) + box * (Sizes::kTokens * Sizes::kBoxBytes), map,
             first + box * Sizes::kBoxColumns, 0, full, CacheHint::kEvictLast);
  }
}

/// Fills the ring. Weights are constant, so loading the first stages' weights begins before the
/// predecessor ends.
template <class Sizes>
__device__ void produce(const Shared<Sizes>& shared, const CodesProduct& product,
                        const CUtensorMap* weights, const CUtensorMap* inputs) {
  constexpr int kColumns = Sizes::Encoding::kColumns;
  const Cut& cut = product.cut;
  const unsigned first = first_of(cut, blockIdx.x);
  const unsigned count = first_of(cut, blockIdx.x + 1) - first;
  const unsigned ahead = min(count, static_cast<unsigned>(Sizes::kDepth));
  unsigned tile = first / cut.tile_units;
  unsigned column = first % cut.tile_units;
  const std::uint32_t beside = Sizes::kConverts ? 0 : Sizes::kTokens * Sizes::kTokenBytes;
  const auto load = [&](unsigned slot) {
    load_weights<Sizes>(product, weights, tile, column, shared.weights(slot), &shared.full[slot],
                        beside);
  };
  const auto load_inputs = [&](unsigned slot, unsigned at) {
    load_tokens<Sizes>(shared, inputs, slot, static_cast<int>(at) * kColumns);
  };
  const auto advance = [&] {
    if (++column == cut.tile_units) {
      column = 0;
      ++tile;
    }
  };

  unsigned input_column = column;
  for (unsigned i = 0; i < ahead; ++i) {
    load(i);
    advance();
  }
  wait_for_predecessor();
  for (unsigned i = 0; i < ahead; ++i) {
    load_inputs(i, input_column);
    if (++input_column == cut.tile_units) input_column = 0;
  }
  unsigned slot = 0;
  unsigned parity = 0;
  for (unsigned i = ahead; i < count; ++i) {
    wait(&shared.empty[slot], parity);
    load(slot);
    load_inputs(slot, column);
    advance();
    if (++slot == Sizes::kDepth) {
      slot = 0;
      parity ^= 1U;
    }
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
