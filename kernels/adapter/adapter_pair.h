#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/kernels/adapter/adapter_spec.h"

namespace weft {

/// An adapter's pair for one site of a program, as the host's kernels read it. Borrowed.
struct AdapterPair {
  /// [rank, K]; a row begins every adapter_row(K) numbers. Zeros follow the K numbers of a row, and
  /// rows of zeros fill up the rank to a multiple of kAdapterRankBlock.
  const std::byte* a = nullptr;
  /// [panels, rank, kAdapterPanel]: the panels of the site's runs, in the runs' order. The last
  /// panel of a run is filled up with zeros.
  const std::byte* b = nullptr;
  DType dtype = DType::kF32;  ///< the type of A and B: f32 or bf16
  std::int32_t rank = 0;      ///< 0: the adapter does not change the site
  float scale = 1;
};

/// Numbers from one row of AdapterPair::a to the next: whole vectors of each target.
[[nodiscard]] constexpr std::int64_t adapter_row(std::int64_t inputs) noexcept {
  return (inputs + kAdapterPanel - 1) / kAdapterPanel * kAdapterPanel;
}

/// Rows of a step that share one adapter. A row is in at most one task; a row in no task has no
/// adapter. Borrowed.
struct AdapterTask {
  std::span<const std::int32_t> rows;
  const AdapterPair* pairs = nullptr;  ///< indexed by site of the program
};

/// Requires that every task has pairs and that its rows are below `rows`.
void require_tasks(std::span<const AdapterTask> tasks, std::int64_t rows);

}  // namespace weft
