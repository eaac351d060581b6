#include "weft/jobs/tuning/job_store.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/core/time/unix_time.h"
#include "weft/jobs/folder_entries.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/owner_share.h"
#include "weft/jobs/random_name.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordName = "job.json";
/// A record with all its events is far smaller.
constexpr std::size_t kMostRecordBytes = 16 << 20;

Error no_such_job(std::string_view id) { return {JobsErrc::kNoSuchJob, std::string(id)}; }

Result<JobRecord> read_job(const fs::path& folder) {
  const fs::path path = folder / kRecordName;
  const auto object = read_versioned(path, kMostRecordBytes, kRecordVersion);
  if (!object) return object.error();
  auto job = read_record(*object);
  if (!job) return error_in(path.string(), std::move(job).error());
  if (job->id != folder.filename())
    return Error{JobsErrc::kBadFolder, path.string() + ": is of another job"};
  if (job->status == JobStatus::kRunning || job->status == JobStatus::kValidating)
    job->status = JobStatus::kQueued;
  return job;
}

/// Removes what a job that is over no longer needs.
void discard_leavings(const fs::path& folder, const JobRecord& job) {
  if (!is_over(job.status)) return;
  discard_training(folder);
  if (job.fine_tuned_model.empty() || job.model_is_deleted) discard(folder / "adapter");
}

/// Returns the bytes of a job's data; 0: it has none any more.
std::int64_t data_bytes_in(const fs::path& folder) {
  std::error_code missing;
  const auto bytes = fs::file_size(folder / "data.jsonl", missing);
  return missing ? 0 : static_cast<std::int64_t>(bytes);
}

/// Makes a second name of the file, or where the disk has no such names a copy.
Result<void> add_link(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return {};
  fs::copy_file(from, to, error);
  if (error) return Error{FileErrc::kCannotWrite, to.string() + " (" + error.message() + ")"};
  return {};
}

}  // namespace

void discard_training(const fs::path& folder) noexcept {
  // A killed process may leave a part of a new state.
  for (const char* const name :
       {"data.jsonl", "state", "state.new", "metrics.csv", "metrics.csv.new"})
    discard(folder / name);
}

JobStore::JobStore(JobStore&& other) noexcept
    : folder_(other.folder_),
      most_(other.most_),
      jobs_(std::move(other.jobs_)),
      pending_(std::move(other.pending_)),
      next_number_(other.next_number_) {}

Result<JobStore> JobStore::open(fs::path folder, std::size_t most) {
  JobStore store(std::move(folder), most);
  const auto entries = entries_of(store.folder_);
  if (!entries) return entries.error();
  for (const fs::path& entry : *entries) {
    auto job = read_job(entry);
    if (!job) return job.error();
    discard_hidden(entry);  // an adapter that was not finished
    discard(entry / "job.json.new");
    discard_leavings(entry, *job);
    job->data_bytes = data_bytes_in(entry);
    store.next_number_ = std::max(store.next_number_, job->number + 1);
    store.put(*std::move(job));
  }
  return store;
}

void JobStore::put(JobRecord job) {
  const std::scoped_lock lock(mutex_);
  pending_.erase(job.id);
  std::string id = job.id;
  jobs_.insert_or_assign(std::move(id), std::move(job));
}

Result<JobRecord> JobStore::get(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return no_such_job(id);
  return found->second;
}

/// Returns the job of the owner that a new one replaces; empty: the owner may have one more.
Result<std::string> JobStore::to_replace(std::string_view owner) const {
  const std::scoped_lock lock(mutex_);
  const JobRecord* oldest = nullptr;
  std::int64_t mine = 0;
  for (const auto& [id, job] : jobs_) {
    if (job.owner != owner) continue;
    ++mine;
    const bool has_model = !job.fine_tuned_model.empty() && !job.model_is_deleted;
    if (!is_over(job.status) || has_model) continue;
    if (oldest == nullptr || job.number < oldest->number) oldest = &job;
  }
  const auto others = static_cast<std::int64_t>(jobs_.size()) - mine;
  const std::int64_t share = share_of(static_cast<std::int64_t>(most_), others, owner);
  if (mine < share) return std::string();
  if (oldest != nullptr) return oldest->id;
  return Error{JobsErrc::kFull, "you have " + std::to_string(mine) +
                                    " jobs, which run or have a model, of the " +
                                    std::to_string(share) +
                                    " that you may have now (training.max_jobs); delete a model"};
}

Result<void> JobStore::write_new(const JobRecord& job, const fs::path& data) const {
  auto draft = Draft::make(folder_of(job.id), Draft::Kind::kFolder);
  if (!draft) return draft.error();
  if (auto linked = add_link(data, draft->place() / "data.jsonl"); !linked) return linked;
  if (auto written = replace_file(draft->place() / kRecordName, record_text(job)); !written)
    return written;
  return draft->finish();
}

/// Forgets a job. What the disk keeps of it is a job again at the next start.
void JobStore::remove(const std::string& id) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.erase(id);
    pending_.erase(id);
  }
  static_cast<void>(remove_entry(folder_of(id)));
}

Result<JobRecord> JobStore::add(JobRecord job, const fs::path& data) {
  const std::scoped_lock changes(changes_);
  const auto replaced = to_replace(job.owner);
  if (!replaced) return replaced.error();
  job.id = "ftjob-" + random_name();
  job.created = unix_time();
  job.status = JobStatus::kQueued;
  job.number = next_number_++;
  job.add_event({.text = "Created fine-tuning job: " + job.id});
  if (auto written = write_new(job, data); !written) return written.error();
  if (!replaced->empty()) remove(*replaced);
  job.data_bytes = data_bytes_in(folder_of(job.id));
  put(job);
  return job;
}

Result<JobRecord> JobStore::find(std::string_view id, std::string_view owner) const {
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.owner != owner) return no_such_job(id);
  return found->second;
}

Result<JobSummary> JobStore::summary(std::string_view id, std::string_view owner) const {
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.owner != owner) return no_such_job(id);
  const JobSummary& summary = found->second;  // without the events
  return summary;
}

std::vector<JobSummary> JobStore::list(std::string_view owner) const {
  std::vector<JobSummary> mine;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, job] : jobs_) {
      if (job.owner == owner) mine.push_back(job);
    }
  }
  std::ranges::sort(mine, std::ranges::greater(), &JobSummary::number);
  return mine;
}

std::vector<JobSummary> JobStore::all() const {
  std::vector<JobSummary> jobs;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, job] : jobs_) jobs.push_back(job);
  }
  std::ranges::sort(jobs, {}, &JobSummary::number);
  return jobs;
}

std::array<std::size_t, kJobStatuses> JobStore::counts() const {
  std::array<std::size_t, kJobStatuses> counts{};
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, job] : jobs_) ++counts[static_cast<std::size_t>(job.status)];
  return counts;
}

std::vector<HeldFile> JobStore::held_files() const {
  std::map<std::string_view, HeldFile> held;
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    if (!is_over(job.status))
      held.try_emplace(job.training_file, HeldFile{job.training_file, job.owner, job.data_bytes});
  }
  std::vector<HeldFile> files;
  for (auto& [id, file] : held) files.push_back(std::move(file));
  return files;
}

std::optional<JobRecord> JobStore::next_queued() const {
  const std::scoped_lock lock(mutex_);
  const JobRecord* first = nullptr;
  for (const auto& [id, job] : jobs_) {
    if (job.status != JobStatus::kQueued) continue;
    if (first == nullptr || job.number < first->number) first = &job;
  }
  return first == nullptr ? std::nullopt : std::optional(*first);
}

Result<JobRecord> JobStore::change(const std::string& id, const Change& change) {
  const std::scoped_lock changes(changes_);
  auto job = get(id);
  if (!job) return job;
  if (auto changed = change(*job); !changed) return changed.error();
  if (auto written = write(*job); !written) return written.error();
  put(*job);
  return job;
}

Result<void> JobStore::write(const JobRecord& job) const {
  return replace_file(folder_of(job.id) / kRecordName, record_text(job));
}

Result<JobRecord> JobStore::change_anyway(const std::string& id, const Change& change) {
  const std::scoped_lock changes(changes_);
  auto job = get(id);
  if (!job) return job;
  if (auto changed = change(*job); !changed) return changed.error();
  const auto written = write(*job);
  put(*job);
  if (written) return job;
  const std::scoped_lock lock(mutex_);
  pending_.insert(id);
  return Error{JobsErrc::kNotWritten, to_string(written.error())};
}

void JobStore::write_pending() {
  const std::scoped_lock changes(changes_);
  std::set<std::string, std::less<>> ids;
  {
    const std::scoped_lock lock(mutex_);
    ids = pending_;
  }
  for (const std::string& id : ids) {
    auto job = get(id);
    if (!job || !write(*job)) continue;
    discard_leavings(folder_of(id), *job);
    put(*std::move(job));
  }
}

bool JobStore::has_pending() const {
  const std::scoped_lock lock(mutex_);
  return !pending_.empty();
}

bool JobStore::is_pending(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  return pending_.contains(id);
}

Result<void> JobStore::change_only(const std::string& id, const Change& change) {
  auto changed = this->change(id, change);
  if (!changed) return changed.error();
  return {};
}

void JobStore::note(const std::string& id, const std::function<void(JobRecord& job)>& change) {
  const std::scoped_lock changes(changes_);  // or a change() would write over it
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) change(found->second);
}

}  // namespace weft
