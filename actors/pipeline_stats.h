#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/actors/request/request_port.h"
#include "weft/core/metrics.h"
#include "weft/schedule/scheduler.h"

namespace weft {

/// What a pipeline's schedulers publish: levels, which go up and down, and counts. Names and
/// meanings are in one table each (pipeline_stats.cc).
enum class PipelineLevel : std::uint8_t {
  kRunning,
  kWaiting,
  kPagesUsed,
  kPrefixPages,
  kPrefixBytes,
  kEncoderPages,
  kHostPages,
  kFilePages,
  kFileBytes,
};
inline constexpr std::size_t kPipelineLevels = 9;

enum class PipelineCount : std::uint8_t {
  kTicks,
  kPromptTokens,
  kOutputTokens,
  kForcedTokens,
  kAcceptedGuesses,
  kRejectedGuesses,
  kPreemptions,
  kMovedRows,
  kPrefixLookups,
  kPrefixHits,
  kPrefixHollowHits,
  kPrefixTokens,
  kPrefixEvictions,
  kHostPagesOut,
  kHostPagesIn,
  kFilePagesWritten,
  kFilePagesRead,
  kFilePagesDropped,
  kFileFailures,
};
inline constexpr std::size_t kPipelineCounts = 19;

/// The numbers of one pipeline, for everyone to read; they belong together only roughly.
/// Thread-safe except where stated.
class PipelineStats {
 public:
  /// `most_requests` may be taken in and not have ended; `kv_bytes` are those of all pages. `model`
  /// is the label of the metrics where there are several models. The registry must outlive it.
  PipelineStats(MetricsRegistry& registry, const DeviceLimits& limits, std::size_t replicas,
                std::int64_t most_requests, std::int64_t kv_bytes, const std::string& model = {});
  PipelineStats(const PipelineStats&) = delete;
  PipelineStats& operator=(const PipelineStats&) = delete;
  /// Takes its part off the metrics that are levels: others may go on with them.
  ~PipelineStats();

  /// Counts a request when it is taken in, and when it has ended.
  void begin(std::int64_t prompt_tokens) noexcept;
  void finish(std::int64_t prompt_tokens) noexcept;
  /// Records how long a request of the class took.
  void observe(RequestClass cls, const Finish& finish) noexcept;
  /// Publishes the replica's scheduler's numbers; called by that scheduler alone.
  void set(std::size_t replica, const SchedulerStats& stats) noexcept;
  /// Publishes who holds a row of the replica; called by its scheduler alone.
  void set_row(std::size_t replica, std::int32_t row, RowHolder holder) noexcept;

  [[nodiscard]] std::int64_t requests() const noexcept { return requests_.load(); }
  /// Whether no more requests are taken in.
  [[nodiscard]] bool full() const noexcept { return requests() >= most_requests_; }
  [[nodiscard]] std::int64_t prompt_tokens() const noexcept { return prompt_tokens_.load(); }
  [[nodiscard]] EngineStats read() const noexcept;
  /// Returns who holds the rows of all replicas, one replica after the other.
  [[nodiscard]] std::vector<RowHolder> rows() const;

 private:
  // How many recent times the median is of: so many that one slow request does not move it, and so
  // few that it follows the load.
  static constexpr std::size_t kRecent = 32;

  // A request's number and, in the lowest bit, whether it decodes; 0 = free.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  using Row = std::atomic<std::uint64_t>;

  void note_first_token(double seconds) noexcept;
  [[nodiscard]] double first_token_median() const noexcept;

  const DeviceLimits limits_;  // of one replica
  const std::size_t count_;
  const std::int64_t most_requests_;
  const double page_bytes_;
  // What the metrics contain already; each is its scheduler's own.
  std::vector<SchedulerStats> before_;
  const std::unique_ptr<Row[]> rows_;  // of all replicas
  std::atomic<std::int64_t> requests_{0};
  std::atomic<std::int64_t> prompt_tokens_{0};

  /// The times of one class's requests, in seconds.
  struct Times {
    Times(MetricsRegistry& registry, RequestClass cls, const std::string& model);
    Histogram* queue = nullptr;
    Histogram* first_token = nullptr;
    Histogram* whole = nullptr;
    Counter* ended = nullptr;
  };
  std::array<Times, kRequestClasses.size()> times_;

  // Times to the first token; the newest replaces the oldest.
  std::array<std::atomic<double>, kRecent> recent_{};
  std::atomic<std::size_t> recent_count_{0};

  [[nodiscard]] double level(PipelineLevel which) const noexcept {
    return levels_[static_cast<std::size_t>(which)]->value();
  }
  [[nodiscard]] std::uint64_t count(PipelineCount which) const noexcept {
    return counts_[static_cast<std::size_t>(which)]->value();
  }
  /// Bytes of a memory that the KV cache takes, for as long as the pipeline is there.
  struct KvBytes {
    Gauge* gauge = nullptr;
    double bytes = 0;
  };
  std::array<KvBytes, 2> kv_bytes_{};  // of devices' own, and of host memory beside it

  std::array<Gauge*, kPipelineLevels> levels_{};
  std::array<Counter*, kPipelineCounts> counts_{};
};

}  // namespace weft
