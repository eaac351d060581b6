#include "weft/jobs/fine_tuning.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "weft/config/adapters_text.h"
#include "weft/core/time/unix_time.h"
#include "weft/jobs/folder_entries.h"
#include "weft/jobs/folder_lock.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/random_name.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

Error wrong_state(const JobRecord& job) {
  return {JobsErrc::kWrongState, "the job has the status " + std::string(to_string(job.status))};
}

}  // namespace

FineTuning::FineTuning(FileDescriptor lock, FileStore files, JobStore jobs,
                       std::unique_ptr<JobTrainer> trainer, JobRunner::Options options,
                       MetricsRegistry* metrics)
    : lock_(std::move(lock)),
      files_(std::move(files)),
      jobs_(std::move(jobs)),
      trainer_(std::move(trainer)),
      models_(jobs_, *trainer_, options.notice) {
  files_.count_held([this] { return jobs_.held_files(); });
  models_.serve_all();
  if (metrics != nullptr) options.metrics = &metrics_.emplace(*metrics);
  options.on_model = [this](const JobSummary& job) { models_.on_new_model(job); };
  runner_.emplace(jobs_, files_, *trainer_, std::move(options));
}

Result<std::unique_ptr<FineTuning>> FineTuning::open(const Config& config,
                                                     std::unique_ptr<JobTrainer> trainer,
                                                     const Notice& notice,
                                                     MetricsRegistry* metrics) {
  const fs::path folder = config.training_folder;
  auto lock = lock_folder(folder);
  if (!lock) return lock.error();
  const FileStore::Bounds bounds{.file_bytes = config.training_max_file_bytes,
                                 .all_bytes = config.training_max_files_bytes,
                                 .files = static_cast<std::size_t>(config.training_max_files)};
  auto files = FileStore::open(folder / "files", bounds);
  if (!files) return files.error();
  auto jobs = JobStore::open(folder / "jobs", static_cast<std::size_t>(config.training_max_jobs));
  if (!jobs) return jobs.error();
  JobRunner::Options options;
  options.checkpoint_steps = config.training_checkpoint_steps;
  options.notice = notice;
  return std::unique_ptr<FineTuning>(new FineTuning(*std::move(lock), *std::move(files),
                                                    *std::move(jobs), std::move(trainer),
                                                    std::move(options), metrics));
}

void FineTuning::refresh_metrics() {
  if (metrics_) metrics_->set_levels(jobs_.counts(), files_.use());
}

Result<JobRecord> FineTuning::create(JobRecord job) {
  const auto file = files_.find(job.training_file, job.owner);
  if (!file || file->purpose != kFineTunePurpose) {
    return Error{
        JobsErrc::kBadJob,
        "training_file: there is no file of that id for fine-tuning; /v1/files lists them"};
  }
  if (auto checked = trainer_->check(job); !checked) return checked.error();
  JobRecord named = job;
  named.id = "ftjob-" + std::string(kRandomNameBytes, 'x');
  if (!is_tuned_name(tuned_model_name(named))) {
    return Error{JobsErrc::kBadJob,
                 "suffix: must be letters, digits, dots, hyphens and underlines, and with the "
                 "model's name short enough for a model's name"};
  }
  auto added = jobs_.add(std::move(job), files_.path_of(file->id));
  if (added) runner_->wake();
  return added;
}

Result<JobRecord> FineTuning::cancel(const std::string& id, std::string_view owner) {
  if (const auto found = jobs_.summary(id, owner); !found) return found.error();
  const bool again = jobs_.is_pending(id);
  auto changed = jobs_.change_anyway(id, [again](JobRecord& job) -> Result<void> {
    if (again && job.status == JobStatus::kCancelled) return {};
    if (is_over(job.status)) return wrong_state(job);
    job.status = JobStatus::kCancelled;
    job.finished = unix_time();
    job.add_event({.text = "The job was cancelled"});
    return {};
  });
  if (!changed && changed.error().code != JobsErrc::kNotWritten) return changed;
  runner_->stop(id);
  discard_training(jobs_.folder_of(id));
  static_cast<void>(files_.erase(result_file_id({.id = id}), owner));
  if (changed) return changed;
  jobs_.write_pending();  // the training has made room on a full disk
  if (!jobs_.is_pending(id)) return jobs_.find(id, owner);
  runner_->wake();  // writes it when the disk has room
  return changed;
}

Result<JobRecord> FineTuning::pause(const std::string& id, std::string_view owner) {
  if (const auto found = jobs_.summary(id, owner); !found) return found.error();
  const bool again = jobs_.is_pending(id);
  auto changed = jobs_.change_anyway(id, [again](JobRecord& job) -> Result<void> {
    if (again && job.status == JobStatus::kPaused) return {};
    if (is_over(job.status) || job.status == JobStatus::kPaused) return wrong_state(job);
    job.status = JobStatus::kPaused;
    job.add_event({.text = "The job was paused"});
    return {};
  });
  if (!changed && changed.error().code != JobsErrc::kNotWritten) return changed;
  runner_->stop(id);
  if (!changed) runner_->wake();  // writes it when the disk has room
  return changed;
}

Result<JobRecord> FineTuning::resume(const std::string& id, std::string_view owner) {
  if (const auto found = jobs_.summary(id, owner); !found) return found.error();
  auto changed = jobs_.change(id, [](JobRecord& job) -> Result<void> {
    if (job.status != JobStatus::kPaused) return wrong_state(job);
    job.status = JobStatus::kQueued;
    job.add_event({.text = "The job was resumed"});
    return {};
  });
  if (changed) runner_->wake();
  return changed;
}

Result<void> FineTuning::delete_model(std::string_view name, std::string_view owner) {
  for (const JobSummary& job : jobs_.list(owner)) {
    if (job.fine_tuned_model != name || job.model_is_deleted) continue;
    auto removed = models_.remove(job);
    runner_->wake();  // writes the record if it waits for the disk
    return removed;
  }
  return Error{JobsErrc::kNoSuchJob, std::string(name)};
}

}  // namespace weft
