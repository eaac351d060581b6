#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/adapter/adapter_spec.h"
#include "weft/kernels/cuda/cuda_types.h"

/// How adapters lie in a GPU's memory, and which adapter each row of a step has. Nothing here needs
/// CUDA.
namespace weft::cuda {

/// Ranks in a tile: the k of a tensor core's product.
inline constexpr std::int64_t kAdapterTile = 16;
static_assert(kAdapterRankGrain == kAdapterTile && kAdapterPanel == 16);
/// Contiguous inputs: four lanes have eight each.
inline constexpr std::int64_t kAdapterInputRun = 32;
/// The most rows of one adapter that are computed together: the m of a tensor core's product.
inline constexpr std::int32_t kAdapterTaskRows = 16;

/// An adapter's pair for one site, in the memory of one adapter. A and B are bf16 and padded with
/// zeros: A to whole tiles of ranks and whole runs of inputs, B to whole tiles and whole panels. A
/// warp's lane finds its operands in 16 contiguous bytes.
struct CudaAdapterPair {
  float scale = 0;
  std::int32_t tiles = 0;  ///< tiles of ranks; 0: the adapter does not change the site
  std::int64_t a = 0;      ///< offset of A from the adapter's memory in bytes, a multiple of 256
  std::int64_t b = 0;      ///< offset of B, likewise
};

/// Returns the index of a number of A [ranks, inputs].
[[nodiscard]] constexpr std::int64_t adapter_a_at(std::int64_t rank, std::int64_t input,
                                                  std::int64_t inputs) noexcept {
  const std::int64_t runs = (inputs + kAdapterInputRun - 1) / kAdapterInputRun;
  const std::int64_t half =
      rank / kAdapterTile * runs * 2 + input / kAdapterInputRun * 2 + rank % kAdapterTile / 8;
  return half * 256 + rank % 8 * 32 + input % kAdapterInputRun;
}
[[nodiscard]] constexpr std::int64_t adapter_a_size(std::int64_t tiles,
                                                    std::int64_t inputs) noexcept {
  const std::int64_t runs = (inputs + kAdapterInputRun - 1) / kAdapterInputRun;
  return tiles * kAdapterTile * runs * kAdapterInputRun;
}

/// Returns the index of the number of B for an output of a panel.
[[nodiscard]] constexpr std::int64_t adapter_b_at(std::int64_t panel, std::int64_t output,
                                                  std::int64_t rank, std::int64_t tiles) noexcept {
  return (panel * tiles + rank / kAdapterTile) * 256 + output % 8 * 32 +
         rank % kAdapterTile / 4 * 8 + output / 8 * 4 + rank % 4;
}
[[nodiscard]] constexpr std::int64_t adapter_b_size(std::int64_t tiles,
                                                    std::int64_t panels) noexcept {
  return panels * kAdapterPanel * tiles * kAdapterTile;
}

/// The memory of a device's adapters. Each adapter's part begins with its pairs, indexed by site of
/// the program. The parts do not change while a step uses them, so kernels read them before their
/// predecessor ends.
struct CudaAdapterPlaces {
  const std::byte* data = nullptr;  ///< aligned to 256 bytes
  std::int64_t bytes = 0;           ///< bytes from one adapter's part to the next
};

/// Rows of a step that share one adapter, or have none.
struct CudaAdapterTask {
  std::int32_t place = -1;  ///< index of the adapter's part; -1: no adapter
  std::int32_t first = 0;   ///< index of the first row in CudaAdapterTasks::rows
  std::int32_t count = 0;   ///< 1 .. kAdapterTaskRows
};

/// All rows of a step, each in one task, in a device's memory. Kernels read tasks, like the
/// adapters' parts, before their predecessor ends.
struct CudaAdapterTasks {
  const CudaAdapterTask* tasks = nullptr;
  const std::int32_t* count = nullptr;
  const std::int32_t* rows = nullptr;  ///< sorted by adapter
  std::int32_t most = 0;               ///< the most tasks that a step with this many rows can have
};

/// Returns the most tasks of a step, by its number of rows and by the device's number of adapters.
[[nodiscard]] constexpr std::int32_t most_adapter_tasks(std::int64_t rows,
                                                        std::int64_t places) noexcept {
  const std::int64_t adapters = rows < places + 1 ? rows : places + 1;
  const std::int64_t tasks = (rows + adapters * (kAdapterTaskRows - 1)) / kAdapterTaskRows;
  return static_cast<std::int32_t>(tasks);
}

/// The most slices of the inputs in which A x is computed. The second half of an adapter adds up
/// the slices' sums.
inline constexpr std::int64_t kMaxAdapterSlices = 16;
/// The number of blocks (slices times tiles times tasks) that fills a GPU. Twice as many blocks
/// took 32 adapters of llama-3-8b a fifth longer (docs/log/2026-11.md).
inline constexpr std::int64_t kAdapterBlocks = 256;
[[nodiscard]] constexpr std::int32_t adapter_slices(std::int64_t inputs, std::int64_t tiles,
                                                    std::int32_t tasks) noexcept {
  constexpr std::int64_t kSliceInputs = 256;
  const std::int64_t most = (inputs + kSliceInputs - 1) / kSliceInputs;
  std::int64_t slices = kAdapterBlocks / (tiles * tasks);
  if (slices > kMaxAdapterSlices) slices = kMaxAdapterSlices;
  if (slices > most) slices = most;
  return static_cast<std::int32_t>(slices < 1 ? 1 : slices);
}

/// Returns the most numbers in the slices' sums of one input, by the most rows of a step and the
/// most columns of sums. With several slices, slices times tasks is at most
/// kAdapterBlocks.
[[nodiscard]] constexpr std::int64_t adapter_sums(std::int64_t rows, std::int64_t width) noexcept {
  constexpr std::int64_t kMost = kAdapterBlocks * kAdapterTaskRows;
  const std::int64_t all = rows * kMaxAdapterSlices;
  const std::int64_t sliced = all < kMost ? all : kMost;
  return (sliced > rows ? sliced : rows) * width;
}

}  // namespace weft::cuda
