#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "weft/core/error/error.h"
#include "weft/core/io/output.h"
#include "weft/model/checkpoint/tensor_layout.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/row_encoder.h"

namespace weft {

/// The tensors to write, and the file. Borrowed for the call.
struct QuantizeJob {
  std::span<const PlannedTensor> tensors;
  const TensorLayout* layout = nullptr;  ///< layout of these tensors
  const OutputFile* file = nullptr;
  const ImportanceMap* importance = nullptr;  ///< importances of some tensors; null: none
  int threads = 0;                            ///< 0: one for each processor
  /// Called regularly on the caller's thread, and at the end, with the checkpoint's bytes that are
  /// done and the total. Returning false ends the work.
  std::function<bool(std::int64_t, std::int64_t)> progress;
};

/// Writes the whole file. Each thread holds some MiB of one tensor at a time. Returns false if
/// `progress` ended the work. kCannotQuantize naming tensor and row for a number that its type
/// cannot hold, and for an importance of another length; errors of reading and writing.
[[nodiscard]] Result<bool> write_tensors(const QuantizeJob& job);

}  // namespace weft
