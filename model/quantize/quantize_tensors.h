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

/// The tensors to write, and where. Borrowed for the call.
struct QuantizeJob {
  std::span<const PlannedTensor> tensors;
  const TensorLayout* layout = nullptr;  ///< of these tensors
  const OutputFile* file = nullptr;
  const ImportanceMap* importance = nullptr;  ///< of some of them; null: none
  int threads = 0;                            ///< 0: as many as there are processors
  /// Called on the caller's thread now and then, and at the end, with the checkpoint's bytes that
  /// are done and all of them; false ends the work.
  std::function<bool(std::int64_t, std::int64_t)> progress;
};

/// Writes the whole file. Each thread holds some MiB of one tensor at a time. Returns whether the
/// writing was let finish. kCannotQuantize naming tensor and row of a number that its type does not
/// have, and an importance of another length; errors of reading and writing.
[[nodiscard]] Result<bool> write_tensors(const QuantizeJob& job);

}  // namespace weft
