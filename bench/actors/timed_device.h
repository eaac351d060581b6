#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"

namespace weft::bench {

/// A device that computes nothing. Each sample gets the next token of a list, and a step takes as
/// long as the cost of its plan. All time beyond that is the pipeline's own.
class TimedDevice final : public StepDevice {
 public:
  struct Options {
    DeviceLimits limits;
    std::vector<TokenId> tokens;  ///< it returns these tokens in turn; their number is a power of
                                  ///< two
    std::function<Duration(const Plan& plan)> cost{};  ///< empty: a step costs nothing
    bool spins = false;  ///< keeps the processor during a step, instead of sleeping
  };

  explicit TimedDevice(Options options) : options_(std::move(options)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return options_.limits; }

  void run(const Plan& plan, StepResult& result) override {
    using Clock = std::chrono::steady_clock;
    const TimePoint began = options_.cost ? Clock::now() : TimePoint{};
    const std::size_t mask = options_.tokens.size() - 1;
    for (std::size_t i = 0; i < plan.samples.size(); ++i) {
      result.samples.push_back({options_.tokens[next_++ & mask], -1.0F, 0, 0, 0});
    }
    if (!options_.cost) return;
    const TimePoint until = began + options_.cost(plan);
    if (!options_.spins) std::this_thread::sleep_until(until);
    while (Clock::now() < until) {
    }
  }

 private:
  const Options options_;
  std::size_t next_ = 0;
};

}  // namespace weft::bench
