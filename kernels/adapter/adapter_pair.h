#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/kernels/adapter/adapter_spec.h"

namespace weft {

/// An adapter's pair for one site of a program, as the host's kernels read it. Borrowed.
struct AdapterPair {
  /// [rank, K]: rows are adapter_row(K) numbers apart. The numbers behind K are zeros, and so are
  /// rows that fill up the rank to kAdapterRankBlock.
  const std::byte* a = nullptr;
  /// [panels, rank, kAdapterPanel]: the panels of the site's runs, in the runs' order; outputs that
  /// a run does not have are zeros.
  const std::byte* b = nullptr;
  DType dtype = DType::kF32;  ///< of both: f32 or bf16
  std::int32_t rank = 0;      ///< 0: the adapter does not change the site
  float scale = 1;
};

/// Numbers from one row of AdapterPair::a to the next: whole vectors of each target.
[[nodiscard]] constexpr std::int64_t adapter_row(std::int64_t inputs) noexcept {
  return (inputs + kAdapterPanel - 1) / kAdapterPanel * kAdapterPanel;
}

/// Rows of a step that have one adapter. No row is in two tasks. A row that is in none has no
/// adapter. Borrowed.
struct AdapterTask {
  std::span<const std::int32_t> rows;
  const AdapterPair* pairs = nullptr;  ///< by site of the program
};

/// Requires that tasks have pairs, and rows below `rows`.
void require_tasks(std::span<const AdapterTask> tasks, std::int64_t rows);

}  // namespace weft
