#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/plan.h"

namespace weft {

/// What a device took memory for when it was made; plans stay within it.
struct DeviceLimits {
  std::int32_t rows = 0;
  std::int32_t pages = 0;  ///< of the decoder's KV
  std::int32_t page_tokens = 1;
  /// Tokens of an entry list, and of an encode list, at most. At least `rows`, so that all can
  /// advance in one step.
  std::int32_t step_tokens = 0;
  std::int64_t context = 0;      ///< positions of a sequence
  std::int32_t cross_pages = 0;  ///< of the encoder's output; 0 without encoder
  std::int64_t vocabulary = 0;

  [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const noexcept {
    return (tokens + page_tokens - 1) / page_tokens;
  }
  [[nodiscard]] std::int32_t pages_per_row() const noexcept {
    return static_cast<std::int32_t>(pages_for(context));
  }
  [[nodiscard]] std::int32_t pages_per_step() const noexcept {
    return static_cast<std::int32_t>(pages_for(step_tokens));
  }
};

/// A device as the pipeline sees it: it carries out plans, one after the other. What stands in a
/// row (page table, last token, sampler) is the device's, and plans change it. One thread at a
/// time.
class StepDevice {
 public:
  StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  virtual ~StepDevice() = default;

  /// What plans must keep to; constant.
  [[nodiscard]] virtual const DeviceLimits& limits() const noexcept = 0;

  /// Runs one step; `result` has been cleared. Allocates nothing once its vectors have their size.
  /// A row whose last token is kNoToken is fed any other: what it gives is not looked at.
  /// A failure is an exception: ActorFailure(kDeviceLost) when the device is gone for good, any
  /// other when only this step is lost.
  virtual void run(const Plan& plan, StepResult& result) = 0;
};

}  // namespace weft
