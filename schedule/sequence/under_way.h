#pragma once

#include <cstdint>

namespace weft {

/// A sequence's state in plans: the last tick that it was in, and the number of its pending
/// results. A result counts if the sequence still has the serial number that the plan noted.
/// Owner only.
class UnderWay {
 public:
  /// No result is pending; results with other serial numbers do not count.
  explicit UnderWay(std::uint32_t serial = 0) noexcept : serial_(serial) {}

  [[nodiscard]] std::uint32_t serial() const noexcept { return serial_; }
  /// Pending results that will count.
  [[nodiscard]] std::int32_t results() const noexcept { return results_; }
  /// The last tick that feeds the sequence; 0: no tick.
  [[nodiscard]] std::uint64_t last_tick() const noexcept { return last_tick_; }

  /// A tick's plan feeds the sequence, or a sequence whose tokens it shares (PlanWriter).
  void feed(std::uint64_t tick) noexcept { last_tick_ = tick; }
  /// That plan gives the sequence a result (PlanWriter).
  void expect_result() noexcept { ++results_; }
  /// A result that counts has arrived (Scheduler).
  void take_result() noexcept { --results_; }
  /// The only plan that feeds the sequence no longer does (PlanAmender).
  void take_back() noexcept {
    results_ = 0;
    last_tick_ = 0;
  }
  /// Pending results no longer count (RunningGroups, Scheduler).
  void disown_results() noexcept {
    ++serial_;
    results_ = 0;
  }

 private:
  std::uint32_t serial_;
  std::int32_t results_ = 0;
  std::uint64_t last_tick_ = 0;
};

}  // namespace weft
