#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/cuda/runtime/resources.h"

namespace weft::cuda {

class CudaDevice;
struct StepView;

/// Graphs of decode steps, one for each bucket of rows and each form, so that a step is one launch.
/// Buckets are the powers of two and the most rows. Owner only.
class RecordedSteps {
 public:
  struct Step {
    std::int64_t rows = 0;
    OwnedGraph graph;
    OwnedGraph telling;  ///< the form that tells of logits, where ranks share the head
    Duration took{};     ///< how long the last run took
  };

  /// Records them for up to `rows` rows. All ranks do so at once. Throws Failure.
  void record(CudaDevice& device, std::int64_t rows);

  /// The smallest step with room for `rows` rows; null where none has room or is recorded.
  [[nodiscard]] Step* fitting(std::int64_t rows);
  /// The rows of a step of `rows` rows that is launched op by op; at most `most`.
  [[nodiscard]] std::int64_t bucket(std::int64_t rows, std::int64_t most);

 private:
  std::vector<Step> steps_;  // the smallest first
};

}  // namespace weft::cuda
