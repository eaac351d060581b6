#pragma once

#include <cstdint>

namespace weft {

/// What plans have under way for a sequence: in which tick it was last, and how many results will
/// come for it. A result counts if the sequence still has the serial number that its plan noted.
/// Owner only.
class UnderWay {
 public:
  /// Nothing is under way; results of other serial numbers do not count.
  explicit UnderWay(std::uint32_t serial = 0) noexcept : serial_(serial) {}

  [[nodiscard]] std::uint32_t serial() const noexcept { return serial_; }
  /// Results that will come and count.
  [[nodiscard]] std::int32_t results() const noexcept { return results_; }
  /// The last tick that feeds the sequence; 0: none does.
  [[nodiscard]] std::uint64_t last_tick() const noexcept { return last_tick_; }

  /// The plan of a tick feeds the sequence, or another whose tokens it shares (PlanWriter).
  void feed(std::uint64_t tick) noexcept { last_tick_ = tick; }
  /// That plan gives the sequence a result (PlanWriter).
  void expect_result() noexcept { ++results_; }
  /// A result that counts has come (Scheduler).
  void take_result() noexcept { --results_; }
  /// The only plan that feeds the sequence does not after all (PlanAmender).
  void take_back() noexcept {
    results_ = 0;
    last_tick_ = 0;
  }
  /// Results under way do not count any more (RunningGroups, Scheduler).
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
