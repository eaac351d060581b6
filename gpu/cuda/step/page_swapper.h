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

/// Does the copies between a GPU's pages and their places in host memory that plans ask for.
///
/// If the plan allows it (PlanCopy), the copies run on a separate stream beside the step. They
/// begin when earlier steps have ended, and the next step waits for them. Otherwise they run in the
/// step's stream.
///
/// Throws Failure. Allocates nothing after construction. Owner only.
class PageSwapper {
 public:
  /// Allocates `limits.host_pages` pages. kOutOfMemory.
  PageSwapper(Runtime& runtime, const Layout& layout, const DeviceLimits& limits);

  /// Makes later work of the step's stream wait for the copies of the previous plan.
  void begin(Stream step);
  /// Whether the plan copies pages to or from host memory; then copy() does all of its copies.
  [[nodiscard]] bool is_for(const Plan& plan) const;
  /// Copies as the plan says, in the step's stream or beside it.
  void copy(const Plan& plan, Stream step);
  /// Call it once all work of the step is in its stream.
  void end(Stream step);
  /// Waits for this plan's copies, for a caller that reads or writes pages beside steps.
  void finish();
  /// Adds the times of copies that are known by now to the result.
  void tell(StepResult& result);

 private:
  Runtime& runtime_;
  const std::int32_t pages_;
  const std::size_t most_copies_;  // copies of a launch
  PagePlaces places_;
  CopyBatches batches_;
  std::vector<PageCopy> list_;
  OwnedStream stream_;
  OwnedEvent computed_;  // recorded after the previous step
  OwnedEvent began_;     // timing event before the copies
  OwnedEvent copied_;
  bool waits_ = false;  // whether the next step waits for copied_
  bool has_copied_ = false;
  std::int32_t measured_ = 0;  // pages copied between began_ and copied_ and not yet reported
  Stream measured_on_ = nullptr;
};

}  // namespace weft::cuda
