#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace weft {

/// Calls a timer's function unless the call is outdated: a call that was queued and then disarmed
/// or armed anew has another arming's number, and does nothing. Shared by a timer and its queued
/// calls. Thread-safe.
class Alarm {
 public:
  explicit Alarm(std::function<void()> expired) : expired_(std::move(expired)) {}

  /// Outdates all queued calls and returns the number for the next ones.
  std::uint64_t renew() noexcept { return arming_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  [[nodiscard]] std::uint64_t arming() const noexcept {
    return arming_.load(std::memory_order_acquire);
  }

  void call(std::uint64_t arming) const {
    if (arming == this->arming()) expired_();
  }

 private:
  std::function<void()> expired_;
  std::atomic<std::uint64_t> arming_{0};
};

}  // namespace weft
