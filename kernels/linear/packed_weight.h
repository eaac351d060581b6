#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/kernels/linear/packed_layout.h"

namespace weft {

/// A matrix of a checkpoint as stored in its file: `outputs` rows of `inputs` numbers. Strides are
/// in elements. Only types without blocks may have strides other than row-major's (a transposed
/// matrix has stride_output = 1). Borrowed; any alignment.
struct SourceMatrix {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t stride_output = 0;
  std::int64_t stride_input = 1;
};

/// A panel of a weight and its layout.
struct PackedPanel {
  const PackedLayout* layout = nullptr;
  const std::byte* data = nullptr;
};

/// A weight matrix W [N outputs, K inputs] in the order in which the linear op reads it. It is
/// filled once when a model is loaded, and constant afterwards; reading is thread-safe.
///
/// A gated weight holds two matrices of N rows each, `gate` (outputs 0 .. N-1) and `up` (outputs
/// N .. 2N-1), interleaved such that one pass yields act(gate) * up; see LinearParams.
class PackedWeight {
 public:
  PackedWeight() = default;

  /// Allocates zeroed memory aligned to a cache line. `dtype` is f32, f16, bf16 or an encoding
  /// whose blocks divide K; `outputs` and `inputs` are 1 .. 2^31-1. Errors: kNoMemory, and
  /// KernelErrc::kUnsupportedWeight for other types and sizes.
  [[nodiscard]] static Result<PackedWeight> allocate(DType dtype, std::int64_t outputs,
                                                     std::int64_t inputs, bool gated = false);

  /// Allocates a weight whose outputs are held in several types. The runs cover the outputs in
  /// order, and each begins at a panel; in a gated weight the second run begins at output N. Errors
  /// as above; runs for which can_hold() is false are a bug of the caller: internal_error.
  [[nodiscard]] static Result<PackedWeight> allocate(std::span<const WeightRun> runs,
                                                     std::int64_t outputs, std::int64_t inputs,
                                                     bool gated = false);

  /// Whether a weight can hold these runs.
  [[nodiscard]] static bool can_hold(std::span<const WeightRun> runs, std::int64_t outputs,
                                     bool gated) noexcept;

  /// Fills outputs [first_output, first_output + source.outputs) and inputs [first_input,
  /// first_input + source.inputs). A source of another type is converted to the nearest numbers; an
  /// encoding takes whole blocks of the same encoding only. Several threads may call it at once if
  /// their ranges of outputs, or their ranges of inputs in whole blocks, are disjoint.
  /// A source of integers, or a source that exceeds the weight, is a bug of the caller:
  /// internal_error.
  void fill(std::int64_t first_output, const SourceMatrix& source, std::int64_t first_input = 0);

  /// Sets the input of each of the K columns, a permutation; null, the default, for the identity.
  /// Another count than K is a bug of the caller: internal_error.
  void set_input_order(std::shared_ptr<const std::vector<std::int32_t>> order);
  [[nodiscard]] const std::vector<std::int32_t>* input_order() const noexcept {
    return input_order_.get();
  }

  /// The type of all outputs; of a mixed weight, the type of its first run.
  [[nodiscard]] DType dtype() const noexcept { return layout().dtype; }
  [[nodiscard]] bool is_mixed() const noexcept { return runs_.size() > 1; }
  [[nodiscard]] bool all_types_are(bool (*wanted)(DType)) const noexcept;
  [[nodiscard]] std::int64_t outputs() const noexcept { return layout().outputs; }
  [[nodiscard]] std::int64_t inputs() const noexcept { return layout().inputs; }
  [[nodiscard]] bool gated() const noexcept { return layout().gated; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  /// The layout; of a mixed weight, with the type of its first run.
  [[nodiscard]] const PackedLayout& layout() const noexcept { return runs_.front().layout; }
  [[nodiscard]] PackedPanel panel(std::int64_t index) const noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
    std::size_t mapped;
  };
  /// Consecutive panels of one type. Where a gated weight has two runs, the first has the gate's
  /// panels and the second the panels of up.
  struct Run {
    PackedLayout layout;  ///< layout of the whole weight in this type
    std::int64_t first_output = 0;
    std::int64_t first_panel = 0;
    std::int64_t offset = 0;  ///< in bytes
  };

  std::vector<Run> runs_{Run{}};
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> data_;
  std::shared_ptr<const std::vector<std::int32_t>> input_order_;
};

}  // namespace weft
