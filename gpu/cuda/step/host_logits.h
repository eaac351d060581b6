#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/sampling/part_summary.h"

namespace weft::cuda {

/// Copies the logits of one row of a step at a time to the host's memory, for choices that the GPU
/// cannot make. Owner only; throws Failure.
class HostLogits {
 public:
  struct Row {
    std::span<float> logits;  ///< [V], valid until the next bring()
    /// Correction to add to logprobs if the row comes from summaries; see join_parts().
    float shift = 0;
  };

  /// `logits` [outputs, V] belong to the step; `layout` outlives this object.
  HostLogits(Runtime& runtime, const Layout& layout, const DeviceRows& logits);

  /// Returns row `output`, after the stream's earlier work. If `tells`, the step sent only
  /// summaries of logits, and the row is made from these (join_parts()).
  [[nodiscard]] Row bring(std::int32_t output, LogitNeeds needs, bool tells, Stream stream);

 private:
  void copy(std::byte* to, const void* from, std::size_t bytes, Stream stream);

  Runtime& runtime_;
  const Layout& layout_;
  const DeviceRows logits_;
  OwnedPinned memory_;
  float* row_ = nullptr;        // points into memory_
  ToldPart* told_ = nullptr;    // [ranks], points into memory_
  std::vector<float> numbers_;  // [ranks, kPartNumbers]
};

}  // namespace weft::cuda
