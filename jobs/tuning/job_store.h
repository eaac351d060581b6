#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/jobs/files/file_store.h"
#include "weft/jobs/tuning/job_record.h"

namespace weft {

/// Removes from a job's folder what only its training needs: data, state and metrics.
void discard_training(const std::filesystem::path& folder) noexcept;

/// Fine-tuning jobs, each in a folder of its own:
///
///   job.json     the record
///   data.jsonl   the training file; a link, so that the upload may be deleted
///   state        of the newest checkpoint
///   metrics.csv  a line for each step
///   adapter/     the result
///
/// Thread-safe. Functions that change a record wait for the disk, and run one after the other.
/// Readers never wait for the disk.
class JobStore {
 public:
  /// Opens a folder, and makes it if need be. Jobs that were under way when the last process ended
  /// are queued again. kBadFolder naming a record that cannot be read; FileErrc.
  [[nodiscard]] static Result<JobStore> open(std::filesystem::path folder, std::size_t most);
  JobStore(JobStore&& other) noexcept;
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;
  JobStore& operator=(JobStore&&) = delete;
  ~JobStore() = default;

  /// Keeps a new job, which is queued. It has all but id, number, time and status. `data` is its
  /// training file. Where the owner has its share of `most` jobs (share_of()), its oldest job that
  /// ended without a model is removed, once the new one is on the disk. kFull: it has none;
  /// FileErrc.
  [[nodiscard]] Result<JobRecord> add(JobRecord job, const std::filesystem::path& data);
  /// Returns a job with its events, some hundred KiB. kNoSuchJob, also for a job of another owner.
  [[nodiscard]] Result<JobRecord> find(std::string_view id, std::string_view owner) const;
  /// As find(), without the events.
  [[nodiscard]] Result<JobSummary> summary(std::string_view id, std::string_view owner) const;
  /// The owner's jobs, the newest first.
  [[nodiscard]] std::vector<JobSummary> list(std::string_view owner) const;
  /// The jobs of all owners, the oldest first.
  [[nodiscard]] std::vector<JobSummary> all() const;
  /// The number of jobs of each status.
  [[nodiscard]] std::array<std::size_t, kJobStatuses> counts() const;
  /// The training files of jobs that still need them, each once.
  [[nodiscard]] std::vector<HeldFile> held_files() const;
  /// Returns the oldest queued job.
  [[nodiscard]] std::optional<JobRecord> next_queued() const;

  /// Changes a copy of a record by `change`, writes it and returns it. Where `change` returns an
  /// error, nothing changes. kNoSuchJob; FileErrc: the record is unchanged.
  using Change = std::function<Result<void>(JobRecord& job)>;
  [[nodiscard]] Result<JobRecord> change(const std::string& id, const Change& change);
  /// As change(), but does not return the record.
  [[nodiscard]] Result<void> change_only(const std::string& id, const Change& change);
  /// As change(), but where the record cannot be written the change is in force all the same, and
  /// waits for write_pending(). kNotWritten then.
  [[nodiscard]] Result<JobRecord> change_anyway(const std::string& id, const Change& change);
  /// Writes the records that wait, as far as the disk takes them.
  void write_pending();
  /// Whether a record, or the job's, waits.
  [[nodiscard]] bool has_pending() const;
  [[nodiscard]] bool is_pending(std::string_view id) const;
  /// Changes a record in memory, after a running change(); the next change() writes it.
  void note(const std::string& id, const std::function<void(JobRecord& job)>& change);

  [[nodiscard]] std::filesystem::path folder_of(std::string_view id) const { return folder_ / id; }

 private:
  JobStore(std::filesystem::path folder, std::size_t most)
      : folder_(std::move(folder)), most_(most) {}

  [[nodiscard]] Result<std::string> to_replace(std::string_view owner) const;
  [[nodiscard]] Result<void> write_new(const JobRecord& job,
                                       const std::filesystem::path& data) const;
  void remove(const std::string& id);
  [[nodiscard]] Result<JobRecord> get(const std::string& id) const;
  void put(JobRecord job);
  [[nodiscard]] Result<void> write(const JobRecord& job) const;

  const std::filesystem::path folder_;
  const std::size_t most_;
  std::mutex changes_;        // held while a record changes; locked before mutex_
  mutable std::mutex mutex_;  // guards the rest; never held while the disk is waited for
  std::map<std::string, JobRecord, std::less<>> jobs_;  // by id
  std::set<std::string, std::less<>> pending_;  // jobs whose newest change is not on the disk
  std::int64_t next_number_ = 0;
};

}  // namespace weft
