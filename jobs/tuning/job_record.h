#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The status of a fine-tuning job.
enum class JobStatus : std::uint8_t {
  kQueued,      ///< it waits for its turn
  kValidating,  ///< its data is read, and its model loaded
  kRunning,
  kPaused,  ///< its owner has paused it, and can resume it
  kSucceeded,
  kFailed,
  kCancelled,
};
inline constexpr std::size_t kJobStatuses = 7;

/// OpenAI's word: "validating_files", "queued", "running", "paused", "succeeded", "failed",
/// "cancelled".
[[nodiscard]] std::string_view to_string(JobStatus status) noexcept;
/// Whether the job will never run again.
[[nodiscard]] bool is_over(JobStatus status) noexcept;

/// The most steps of a job, which bound its metrics: a line of at most some 70 bytes each.
inline constexpr std::int64_t kMostJobSteps = 100'000;

/// How a job trains. Empty fields ("auto") are chosen when the data has been read.
struct JobSettings {
  std::optional<std::int64_t> epochs{};
  std::optional<std::int64_t> batch{};      ///< examples of a step
  std::optional<double> rate_multiplier{};  ///< a factor of the standard learning rate
  std::int64_t rank = 16;
  double alpha = 0;                    ///< 0: twice the rank
  double dropout = 0;                  ///< 0 .. 0.99
  std::vector<std::string> targets{};  ///< "q", "k", ...; empty: all
  std::uint64_t seed = 0;
};

/// Something that happened to a job.
struct JobEvent {
  std::int64_t number = 0;     ///< counts the job's events
  std::int64_t created = 0;    ///< seconds since 1970
  std::string level = "info";  ///< "info", "warn", "error"
  std::string text{};
  /// The step of a step's event; 0: another event.
  std::int64_t step = 0;
  double loss = 0;
  double rate = 0;
};

/// Why a job has failed, for its owner.
struct JobFailure {
  std::string code{};
  std::string message{};
  std::string param{};  ///< the field of the request; empty: none
};

/// The newest state of a job on the disk.
struct JobCheckpoint {
  std::int64_t step = 0;
  double loss = 0;
  std::int64_t created = 0;
};

/// A fine-tuning job without its events. Plain data.
struct JobSummary {
  std::string id{};
  std::string owner{};      ///< the name of the API key; empty: there are no keys
  std::int64_t number = 0;  ///< counts the store's jobs
  std::string model{};      ///< the base's name
  std::string suffix{};
  std::string training_file{};
  JobSettings settings{};
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::int64_t created = 0;   ///< seconds since 1970, as all times here
  std::int64_t finished = 0;  ///< 0: the job has not ended
  JobStatus status = JobStatus::kQueued;
  std::optional<JobFailure> failure{};
  std::int64_t steps = 0;  ///< the steps of all epochs; 0: not known yet
  std::int64_t steps_done = 0;
  std::int64_t trained_tokens = 0;
  std::optional<JobCheckpoint> checkpoint{};
  std::vector<std::string> result_files{};
  std::string fine_tuned_model{};  ///< the adapter's name; empty: there is none yet
  bool model_is_deleted = false;

  /// In memory alone: the bytes of the job's data.
  std::int64_t data_bytes = 0;
  /// In memory alone: when the job is expected to end; 0: not known.
  std::int64_t estimated_finish = 0;
};

/// A fine-tuning job as its folder has it. Plain data.
struct JobRecord : JobSummary {
  std::int64_t next_event = 0;
  std::deque<JobEvent> events{};  ///< the newest last

  /// Adds an event with the next number and the present time. Beyond kMostEvents the oldest step
  /// event is dropped, or if there is none, the oldest event.
  void add_event(JobEvent event);
  static constexpr std::size_t kMostEvents = 1'000;
};

/// The name of the job's model: ft:BASE:SUFFIX:ID.
[[nodiscard]] std::string tuned_model_name(const JobSummary& job);

/// The id of the file that keeps the job's metrics. It follows from the job's id, so a job that
/// ends twice, since its server was killed in between, has one such file.
[[nodiscard]] std::string result_file_id(const JobSummary& job);

/// Writes a record as its description; reads one. kBadFolder naming the description's mistake.
[[nodiscard]] std::string record_text(const JobRecord& job);
[[nodiscard]] Result<JobRecord> read_record(const boost::json::object& object);
/// The version of descriptions.
inline constexpr std::int64_t kRecordVersion = 1;

}  // namespace weft
