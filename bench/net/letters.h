#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"
#include "weft/tests/net/api/tiny_model.h"

namespace weft::bench {

/// Returns the model's token at `position` for a request with this seed, a small letter. A client
/// that knows the seed can detect lost and reordered tokens.
inline char letter_of(std::uint64_t seed, std::uint64_t position) noexcept {
  std::uint64_t hash = (seed + 1) * 0x9E3779B97F4A7C15U + position;
  hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<char>('a' + (hash >> 32U) % 26);
}

/// A device that computes nothing and returns letters. Steps end one `period` after the other. The
/// clock alone sets the rate, and late steps are made up for.
class LetterDevice final : public StepDevice {
 public:
  explicit LetterDevice(const DeviceLimits& limits)
      : limits_(limits), rows_(static_cast<std::size_t>(limits.rows)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }

  /// Thread-safe, as tokens() is; 0 means that a step takes no time.
  void set_period(Duration period) noexcept { period_.store(period.count()); }
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_.load(); }

  void run(const Plan& plan, StepResult& result) override {
    for (const PlanMove& move : plan.moves) std::swap(at(move.from), at(move.to));
    for (const PlanStart& start : plan.starts) at(start.row) = {start.seed, start.prompt_tokens};
    for (const PlanSample& sample : plan.samples) {
      const PlanEntry& entry = plan.entries[static_cast<std::size_t>(sample.entry)];
      const Row& row = at(sample.row);
      const auto position = static_cast<std::uint64_t>(entry.start + entry.count - row.prompt);
      const TokenId letter = letter_of(row.seed, position) - 'a';
      result.samples.push_back({test::kLetterTokens + letter, -1.0F, 0, 0, 0});
    }
    wait();
    tokens_.fetch_add(static_cast<std::int64_t>(plan.samples.size()));
  }

 private:
  struct Row {
    std::uint64_t seed = 0;
    std::int32_t prompt = 0;
  };

  static constexpr int kLate = 10;  // the most periods that are made up for; beyond it, the rate
                                    // cannot be reached

  Row& at(std::int32_t row) { return rows_[static_cast<std::size_t>(row)]; }

  void wait() {
    const Duration period(period_.load());
    const TimePoint now = std::chrono::steady_clock::now();
    ends_ = std::max(ends_ + period, now - kLate * period);
    std::this_thread::sleep_until(ends_);
  }

  const DeviceLimits limits_;
  std::vector<Row> rows_;
  std::atomic<Duration::rep> period_{0};
  std::atomic<std::int64_t> tokens_{0};
  TimePoint ends_{};
};

}  // namespace weft::bench
