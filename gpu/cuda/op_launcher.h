#pragma once

#include <cstdint>

#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// A step as the ops see it: the bucket's rows and outputs, and how its attention was planned.
struct StepView {
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  bool decodes = false;
  bool encodes = false;
  /// Ranks that share the head send summaries of their logits instead of all logits (Layout::told).
  bool tells = false;
  bool rounds_rows = false;  ///< DeviceOptions::rounds_rows
  bool adapts = false;       ///< runs the adapted program: at least one row has an adapter
};

/// Returns the first way that can compute the product with these steps on this GPU and that `table`
/// does not avoid. The order is: kRounded for many rows if rows may be rounded, the measured way of
/// `table`, kCodes, kCodesFetched, CudaLinearTable::default_way(), instead_of() the default,
/// kLibrary, kVector.
[[nodiscard]] LinearWay way_of(const Runtime& runtime, const CudaLinearTable& table,
                               const DeviceMatrix& weight, std::int64_t rows,
                               const EpilogueSteps& steps, bool rounds_rows = false);

/// Launches the ops of a list, one after the other. Throws Failure naming the op. May be recorded.
void launch_ops(Runtime& runtime, const Program& program, const OpList& list, const Layout& layout,
                const CudaStepShape& shape, const Tuning& tuning, const StepView& step,
                Stream stream);

}  // namespace weft::cuda
