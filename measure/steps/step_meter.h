#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/forwarding_device.h"

namespace weft::measure {

/// The work of a step, and its time.
struct StepRecord {
  TimePoint began{};
  TimePoint ended{};
  std::int32_t decodes = 0;         ///< sequences that continued by a token
  std::int32_t prefills = 0;        ///< sequences that computed a piece of their prompt
  std::int32_t prefill_tokens = 0;  ///< tokens of those pieces
  std::int32_t moved_rows = 0;      ///< rows that the shuffle moved
  std::int32_t moved_pages = 0;     ///< pages that the shuffle moved, where keys and values lie in
                                    ///< slabs

  [[nodiscard]] std::int32_t sequences() const noexcept { return decodes + prefills; }
  [[nodiscard]] double seconds() const noexcept {
    return std::chrono::duration<double>(ended - began).count();
  }
};

/// Passes plans on to a device and notes each step.
class StepMeter final : public ForwardingDevice {
 public:
  explicit StepMeter(std::shared_ptr<StepDevice> device)
      : ForwardingDevice(std::move(device)),
        prompts_(static_cast<std::size_t>(ForwardingDevice::limits().rows)) {}

  void run(const Plan& plan, StepResult& result) override;

  /// Returns the steps in the order of their times. To be called only when nothing runs any more.
  [[nodiscard]] const std::deque<StepRecord>& records() const noexcept { return records_; }

 private:
  [[nodiscard]] bool continues(const PlanEntry& entry) const;

  std::vector<std::int32_t> prompts_;  // the tokens of prompts, by row
  std::deque<StepRecord> records_;     // a deque, so that entries do not move when it grows
};

}  // namespace weft::measure
