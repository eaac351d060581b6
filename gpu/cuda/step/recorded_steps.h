#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/cuda/runtime/resources.h"

namespace weft::cuda {

class CudaDevice;
struct StepView;

/// Graphs of decode steps, one for each bucket of rows and each form, so that a step is one launch.
/// Buckets are the powers of two, and the most rows. A step that verifies guesses has several rows
/// for each sequence. It has a graph of its own, chosen by the rows of all sequences together. Its
/// attention reads keys that the step itself writes, so the graph does not depend on lengths. Owner
/// only.
class RecordedSteps {
 public:
  /// The forms of a step.
  struct Graphs {
    OwnedGraph whole;
    OwnedGraph telling;  ///< the form that sends summaries of logits, if ranks share the head
  };
  struct Step {
    std::int64_t rows = 0;
    Graphs base;
    /// For steps in which rows have adapters; empty if there are no places for adapters.
    Graphs adapted;
    Duration took{};  ///< how long the last run took

    [[nodiscard]] const OwnedGraph& graph(bool adapts, bool tells) const noexcept {
      const Graphs& of = adapts ? adapted : base;
      return tells ? of.telling : of.whole;
    }
  };

  /// Records steps of up to `rows` rows, and steps that verify guesses of up to `verified` rows: at
  /// most 8 graphs. All ranks record at once. Throws Failure.
  void record(CudaDevice& device, std::int64_t rows, std::int64_t verified);

  /// Returns the smallest recorded step with room for `rows` rows; null if there is none.
  [[nodiscard]] Step* fitting(std::int64_t rows);
  /// Returns the smallest step that verifies guesses and has room for `rows` rows; null if there is
  /// none.
  [[nodiscard]] Step* verifying(std::int64_t rows);
  /// Returns the number to which the rows of a step launched op by op are rounded up; at most
  /// `most`.
  [[nodiscard]] std::int64_t bucket(std::int64_t rows, std::int64_t most);

 private:
  std::vector<Step> steps_;      // the smallest first
  std::vector<Step> verifying_;  // the smallest first
};

}  // namespace weft::cuda
