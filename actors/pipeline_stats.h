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

/// The metrics that a pipeline's schedulers publish: levels, which go up and down, and counts.
/// Their names and meanings are in two tables in pipeline_stats.cc.
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
  kAdaptersRunning,
  kAdaptersWaiting,
};
inline constexpr std::size_t kPipelineLevels = 11;

enum class PipelineCount : std::uint8_t {
  kTicks,
  kPromptTokens,
  kOutputTokens,
  kForcedTokens,
  kMadeOwnGuesses,
  kMadePredictions,
  kMadeRecent,
  kMadeDrafts,
  kAcceptedOwnGuesses,
  kAcceptedPredictions,
  kAcceptedRecent,
  kAcceptedDrafts,
  kRejectedOwnGuesses,
  kRejectedPredictions,
  kRejectedRecent,
  kRejectedDrafts,
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
  kAdapterLoads,
  kAdapterBytes,
  kTrainingIterations,
  kTrainingPieces,
};
inline constexpr std::size_t kPipelineCounts = 33;

/// The statistics of one pipeline. Numbers read together are of slightly different times.
/// Thread-safe except where stated.
class PipelineStats {
 public:
  /// At most `most_requests` requests may be active; `kv_bytes` are the bytes of all pages. `model`
  /// labels the metrics if there are several models. The registry must outlive this object.
  PipelineStats(MetricsRegistry& registry, const DeviceLimits& limits, std::size_t replicas,
                std::int64_t most_requests, std::int64_t kv_bytes, const std::string& model = {});
  PipelineStats(const PipelineStats&) = delete;
  PipelineStats& operator=(const PipelineStats&) = delete;
  /// Subtracts its part from the levels, which other pipelines may share.
  ~PipelineStats();

  /// Counts a request when it is accepted, and when it has ended.
  void begin(std::int64_t prompt_tokens) noexcept;
  void finish(std::int64_t prompt_tokens) noexcept;
  /// Records how long a request of the class took.
  void observe(RequestClass cls, const Finish& finish) noexcept;
  /// Publishes the numbers of a replica's scheduler; only that scheduler calls it.
  void set(std::size_t replica, const SchedulerStats& stats) noexcept;
  /// Publishes the request in a row of the replica; only its scheduler calls it.
  void set_row(std::size_t replica, std::int32_t row, RowHolder holder) noexcept;

  [[nodiscard]] std::int64_t requests() const noexcept { return requests_.load(); }
  /// Whether no more requests are accepted.
  [[nodiscard]] bool full() const noexcept { return requests() >= most_requests_; }
  [[nodiscard]] std::int64_t prompt_tokens() const noexcept { return prompt_tokens_.load(); }
  [[nodiscard]] EngineStats read() const noexcept;
  /// Returns the requests in the rows of all replicas, one replica after the other.
  [[nodiscard]] std::vector<RowHolder> rows() const;

 private:
  // The median is over so many recent times: enough that one slow request does not move it, and few
  // enough that it follows the load.
  static constexpr std::size_t kRecent = 32;

  // A request's number and, in the lowest bit, whether it decodes; 0 = free.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  using Row = std::atomic<std::uint64_t>;

  void note_first_token(double seconds) noexcept;
  [[nodiscard]] double first_token_median() const noexcept;

  const DeviceLimits limits_;  // one replica's
  const std::size_t count_;
  const std::int64_t most_requests_;
  const double page_bytes_;
  // The numbers that the metrics contain already; each scheduler only touches its own entry.
  std::vector<SchedulerStats> before_;
  const std::unique_ptr<Row[]> rows_;  // the rows of all replicas
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

  // Recent times to the first token; the newest replaces the oldest.
  std::array<std::atomic<double>, kRecent> recent_{};
  std::atomic<std::size_t> recent_count_{0};

  [[nodiscard]] double level(PipelineLevel which) const noexcept {
    return levels_[static_cast<std::size_t>(which)]->value();
  }
  [[nodiscard]] std::uint64_t count(PipelineCount which) const noexcept {
    return counts_[static_cast<std::size_t>(which)]->value();
  }
  /// Adds the KV cache's bytes to a metric while the pipeline exists.
  struct KvBytes {
    Gauge* gauge = nullptr;
    double bytes = 0;
  };
  std::array<KvBytes, 2> kv_bytes_{};  // in the devices' own memory, and in host memory
  Gauge* adapter_places_ = nullptr;

  std::array<Gauge*, kPipelineLevels> levels_{};
  std::array<Counter*, kPipelineCounts> counts_{};
};

}  // namespace weft
