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

/// The logits of one row of a step at a time, in the host's memory, for choices that the GPU cannot
/// make. Owner only; throws Failure.
class HostLogits {
 public:
  struct Row {
    std::span<float> logits;  ///< [V], until the next one is brought
    float shift = 0;          ///< what logprobs lack where parts told of the logits
  };

  /// `logits` [outputs, V] are the step's; `layout` outlives this.
  HostLogits(Runtime& runtime, const Layout& layout, const DeviceRows& logits);

  /// Brings row `output`, when the stream has done the work before. In a step that `tells`, the row
  /// is made from the parts that ranks told (join_parts()).
  [[nodiscard]] Row bring(std::int32_t output, LogitNeeds needs, bool tells, Stream stream);

 private:
  void copy(std::byte* to, const void* from, std::size_t bytes, Stream stream);

  Runtime& runtime_;
  const Layout& layout_;
  const DeviceRows logits_;
  OwnedPinned memory_;
  float* row_ = nullptr;        // in memory_
  ToldPart* told_ = nullptr;    // [ranks], in memory_
  std::vector<float> numbers_;  // [ranks, kPartNumbers]
};

}  // namespace weft::cuda
