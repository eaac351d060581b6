#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/cuda/runtime/resources.h"

namespace weft::cuda {

class CudaDevice;
struct StepView;

/// Graphs of decode steps, one for each bucket of rows and each form, so that a step is one launch.
/// Buckets are the powers of two and the most rows. Where guesses are verified a sequence has
/// several rows, and such steps have graphs of their own, by all their rows: their attention reads
/// what the step itself writes, and the graph depends on nothing else of the sequences. Owner only.
class RecordedSteps {
 public:
  struct Step {
    std::int64_t rows = 0;
    OwnedGraph graph;
    OwnedGraph telling;  ///< the form that tells of logits, where ranks share the head
    Duration took{};     ///< how long the last run took
  };

  /// Records them for up to `rows` rows, and those that verify guesses for up to `verified` rows;
  /// of the latter at most 8. All ranks do so at once. Throws Failure.
  void record(CudaDevice& device, std::int64_t rows, std::int64_t verified);

  /// The smallest step with room for `rows` rows; null where none has room or is recorded.
  [[nodiscard]] Step* fitting(std::int64_t rows);
  /// The same of steps that verify guesses.
  [[nodiscard]] Step* verifying(std::int64_t rows);
  /// The rows of a step of `rows` rows that is launched op by op; at most `most`.
  [[nodiscard]] std::int64_t bucket(std::int64_t rows, std::int64_t most);

 private:
  std::vector<Step> steps_;      // the smallest first
  std::vector<Step> verifying_;  // the smallest first
};

}  // namespace weft::cuda
