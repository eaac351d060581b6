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

/// A matrix of a checkpoint as it stands in its file: `outputs` rows of `inputs` numbers.
/// Strides are in elements; one that is not plain (a transposed matrix has stride_output = 1) is
/// only for types without blocks. Borrowed; any alignment.
struct SourceMatrix {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t stride_output = 0;
  std::int64_t stride_input = 1;
};

/// A panel of a weight and how it lies.
struct PackedPanel {
  const PackedLayout* layout = nullptr;
  const std::byte* data = nullptr;
};

/// A weight matrix W [N outputs, K inputs] in the order in which the linear op reads it, made once
/// when a model is loaded. Immutable afterwards; reading is thread-safe.
///
/// A gated weight holds two matrices of N rows each, `gate` (outputs 0 .. N-1) and `up` (outputs
/// N .. 2N-1), interleaved such that one pass yields act(gate) * up; see LinearParams.
class PackedWeight {
 public:
  PackedWeight() = default;

  /// `dtype` is one of f32, f16, bf16 or an encoding whose blocks divide K. Memory is taken, zeroed
  /// and aligned to a cache line. `outputs` and `inputs` are at least 1 and at most 2^31-1. Errors:
  /// KernelErrc::kUnsupportedWeight when that does not hold, kNoMemory.
  [[nodiscard]] static Result<PackedWeight> allocate(DType dtype, std::int64_t outputs,
                                                     std::int64_t inputs, bool gated = false);

  /// A weight whose outputs are held in several types. The runs follow one another from output 0 to
  /// the last; each begins at a panel, of a gated weight the second one at output N. Errors as
  /// above; runs that do not fit are a bug of the caller: internal_error.
  [[nodiscard]] static Result<PackedWeight> allocate(std::span<const WeightRun> runs,
                                                     std::int64_t outputs, std::int64_t inputs,
                                                     bool gated = false);

  /// Whether runs can be held as they are.
  [[nodiscard]] static bool can_hold(std::span<const WeightRun> runs, std::int64_t outputs,
                                     bool gated) noexcept;

  /// Fills outputs [first_output, first_output + source.outputs) and inputs [first_input,
  /// first_input + source.inputs). The source may be of another type: it is converted (to the
  /// nearest; into an encoding only from the same, and at whole blocks). Calls from several threads
  /// may run at once when their ranges of outputs do not meet, or those of inputs, in whole blocks.
  /// A source of integers, or one that stands over the edges, is a bug of the caller:
  /// internal_error.
  void fill(std::int64_t first_output, const SourceMatrix& source, std::int64_t first_input = 0);

  /// The input that each of the K columns belongs to, as many and each once; null, as it is at
  /// first, for their own order. Another count is a bug of the caller: internal_error.
  void set_input_order(std::shared_ptr<const std::vector<std::int32_t>> order);
  [[nodiscard]] const std::vector<std::int32_t>* input_order() const noexcept {
    return input_order_.get();
  }

  /// Of all its outputs; of the first ones where it is mixed.
  [[nodiscard]] DType dtype() const noexcept { return layout().dtype; }
  [[nodiscard]] bool is_mixed() const noexcept { return runs_.size() > 1; }
  [[nodiscard]] bool all_types_are(bool (*wanted)(DType)) const noexcept;
  [[nodiscard]] std::int64_t outputs() const noexcept { return layout().outputs; }
  [[nodiscard]] std::int64_t inputs() const noexcept { return layout().inputs; }
  [[nodiscard]] bool gated() const noexcept { return layout().gated; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  /// Its type is that of the first outputs where the weight is mixed.
  [[nodiscard]] const PackedLayout& layout() const noexcept { return runs_.front().layout; }
  [[nodiscard]] PackedPanel panel(std::int64_t index) const noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
    std::size_t mapped;
  };
  /// Panels of one type, one after the other. Where a gated weight has two runs, the first has the
  /// gate's panels and the second those of up.
  struct Run {
    PackedLayout layout;  ///< of the whole weight, in this type
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
