#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/step/copy_batches.h"
#include "weft/gpu/cuda/step/page_places.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"

namespace weft::cuda {

/// The copies between a GPU's pages and their places in host memory, as plans want them.
///
/// The copies of a plan are done on a stream of their own, beside the step, where the plan leaves
/// that to the device (PlanCopy). They begin when the steps before are done, and the next step
/// waits for them. Else they are done in the step's stream.
///
/// Throws Failure. Allocates nothing after it was made. Owner only.
class PageSwapper {
 public:
  /// Takes the memory: `limits.host_pages` pages. kOutOfMemory.
  PageSwapper(Runtime& runtime, const Layout& layout, const DeviceLimits& limits);

  /// Later work of the step's stream waits for the copies of the plan before.
  void begin(Stream step);
  /// Whether the plan copies pages to or from host memory; then copy() does all of its copies.
  [[nodiscard]] bool is_for(const Plan& plan) const;
  /// Copies as the plan says, in the step's stream or beside it.
  void copy(const Plan& plan, Stream step);
  /// To be called once all work of the step is in its stream.
  void end(Stream step);
  /// Waits for the copies of this plan, for a caller that reads or writes pages beside steps.
  void finish();
  /// Adds to the result what is known by now of how long copies took.
  void tell(StepResult& result);

 private:
  Runtime& runtime_;
  const std::int32_t pages_;
  const std::size_t most_copies_;  // of a launch
  PagePlaces places_;
  CopyBatches batches_;
  std::vector<PageCopy> list_;
  OwnedStream stream_;
  OwnedEvent computed_;  // by the step before
  OwnedEvent began_;     // copies, by a clock
  OwnedEvent copied_;
  bool waits_ = false;  // the next step, for copied_
  bool has_copied_ = false;
  std::int32_t measured_ = 0;  // pages between began_ and copied_ that were not told
  Stream measured_on_ = nullptr;
};

}  // namespace weft::cuda
