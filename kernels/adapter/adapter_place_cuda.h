#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/adapter/adapter_spec.h"
#include "weft/kernels/cuda/cuda_types.h"

/// How adapters lie in a GPU's memory, and which rows of a step have which. Nothing here needs
/// CUDA.
namespace weft::cuda {

/// Ranks are multiplied in tiles of so many, the k of a tensor core's product.
inline constexpr std::int64_t kAdapterTile = 16;
static_assert(kAdapterRankGrain == kAdapterTile && kAdapterPanel == 16);
/// Inputs that lie together: four lanes have eight each.
inline constexpr std::int64_t kAdapterInputRun = 32;
/// Rows of one adapter that are computed together, the m of a tensor core's product.
inline constexpr std::int32_t kAdapterTaskRows = 16;

/// An adapter's pair for one site in a place. A and B are bf16, padded with zeros: A to whole tiles
/// of ranks and whole runs of inputs, B to whole tiles and panels. A lane of a warp finds what it
/// multiplies in 16 neighbouring bytes.
struct CudaAdapterPair {
  float scale = 0;
  std::int32_t tiles = 0;  ///< of ranks; 0: the adapter does not change the site
  std::int64_t a = 0;      ///< where A begins in the place, in bytes, a multiple of 256
  std::int64_t b = 0;      ///< the same of B
};

/// Where a number of A [ranks, inputs] stands.
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

/// Where the number of B for an output of a panel stands.
[[nodiscard]] constexpr std::int64_t adapter_b_at(std::int64_t panel, std::int64_t output,
                                                  std::int64_t rank, std::int64_t tiles) noexcept {
  return (panel * tiles + rank / kAdapterTile) * 256 + output % 8 * 32 +
         rank % kAdapterTile / 4 * 8 + output / 8 * 4 + rank % 4;
}
[[nodiscard]] constexpr std::int64_t adapter_b_size(std::int64_t tiles,
                                                    std::int64_t panels) noexcept {
  return panels * kAdapterPanel * tiles * kAdapterTile;
}

/// The places of a device. Each begins with its pairs, by site of the program. They do not change
/// while a step uses them, so kernels read them before their predecessor ends.
struct CudaAdapterPlaces {
  const std::byte* data = nullptr;  ///< aligned to 256 bytes
  std::int64_t bytes = 0;           ///< from one place to the next
};

/// Rows of a step that have one adapter, or none.
struct CudaAdapterTask {
  std::int32_t place = -1;  ///< -1: none
  std::int32_t first = 0;   ///< in CudaAdapterTasks::rows
  std::int32_t count = 0;   ///< 1 .. kAdapterTaskRows
};

/// All rows of a step, each in one task, in a device's memory. As places they are read before a
/// kernel's predecessor ends.
struct CudaAdapterTasks {
  const CudaAdapterTask* tasks = nullptr;
  const std::int32_t* count = nullptr;
  const std::int32_t* rows = nullptr;  ///< by adapter
  std::int32_t most = 0;               ///< tasks that a step of so many rows can have
};

/// The most tasks of a step of so many rows and of a device with so many places.
[[nodiscard]] constexpr std::int32_t most_adapter_tasks(std::int64_t rows,
                                                        std::int64_t places) noexcept {
  const std::int64_t adapters = rows < places + 1 ? rows : places + 1;
  const std::int64_t tasks = (rows + adapters * (kAdapterTaskRows - 1)) / kAdapterTaskRows;
  return static_cast<std::int32_t>(tasks);
}

/// A x is computed in slices of the inputs, whose sums the second half of an adapter adds up.
inline constexpr std::int64_t kMaxAdapterSlices = 16;
/// Blocks of all slices, tiles and tasks that fill a GPU: twice as many took 32 adapters of
/// llama-3-8b a fifth longer (docs/log/2026-11.md).
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

/// The most numbers of the slices' sums of one input, for steps of up to so many rows and up to so
/// many columns of sums: more than one slice have no more than kAdapterBlocks tasks' rows.
[[nodiscard]] constexpr std::int64_t adapter_sums(std::int64_t rows, std::int64_t width) noexcept {
  constexpr std::int64_t kMost = kAdapterBlocks * kAdapterTaskRows;
  const std::int64_t all = rows * kMaxAdapterSlices;
  const std::int64_t sliced = all < kMost ? all : kMost;
  return (sliced > rows ? sliced : rows) * width;
}

}  // namespace weft::cuda
