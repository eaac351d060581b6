#pragma once

#include <atomic>
#include <cstdint>

#include "weft/actors/request_port.h"
#include "weft/core/metrics.h"
#include "weft/schedule/scheduler.h"

namespace weft {

/// The numbers of one pipeline as everyone may read them; they belong together only roughly.
class PipelineStats {
 public:
  PipelineStats(MetricsRegistry& registry, const DeviceLimits& limits);

  /// The receiver's: a request was taken in, and has ended.
  void begin(std::int64_t prompt_tokens) noexcept;
  void finish(std::int64_t prompt_tokens) noexcept;
  /// The scheduler's.
  void set(const SchedulerStats& stats) noexcept;

  [[nodiscard]] std::int64_t requests() const noexcept { return requests_.load(); }
  [[nodiscard]] std::int64_t prompt_tokens() const noexcept { return prompt_tokens_.load(); }
  [[nodiscard]] EngineStats read() const noexcept;

 private:
  const DeviceLimits limits_;
  std::atomic<std::int64_t> requests_{0};
  std::atomic<std::int64_t> prompt_tokens_{0};
  std::atomic<std::uint64_t> finished_{0};
  std::uint64_t counted_prompt_tokens_ = 0;  // the scheduler's: what the counters have had
  std::uint64_t counted_output_tokens_ = 0;
  std::uint64_t counted_preemptions_ = 0;

  Gauge& running_;
  Gauge& waiting_;
  Gauge& pages_used_;
  Gauge& ticks_;
  Counter& prompt_;
  Counter& output_;
  Counter& preemptions_;
  Counter& ended_;
};

}  // namespace weft
