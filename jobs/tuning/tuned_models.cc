#include "weft/jobs/tuning/tuned_models.h"

#include <exception>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/thread.h"
#include "weft/jobs/folder_entries.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/tuning/job_failure.h"

namespace weft {
namespace {

bool has_model(const JobSummary& job) {
  return !job.fine_tuned_model.empty() && !job.model_is_deleted;
}

}  // namespace

TunedModels::TunedModels(JobStore& jobs, JobTrainer& trainer, Notice notice)
    : jobs_(jobs), trainer_(trainer), notice_(std::move(notice)), thread_([this] { work(); }) {}

TunedModels::~TunedModels() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TunedModels::serve_all() {
  for (const JobSummary& job : jobs_.all()) serve(job);
}

void TunedModels::on_base_loaded(const std::string& base) { add({base, {}}); }

void TunedModels::on_new_model(const JobSummary& job) { add({job.model, job.id}); }

void TunedModels::add(Missing missing) {
  {
    const std::scoped_lock lock(mutex_);
    missing_.insert(std::move(missing));
  }
  changed_.notify_all();
}

void TunedModels::work() {
  name_this_thread("tuned-models");
  for (;;) {
    Missing missing;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !missing_.empty(); });
      if (ending_) return;
      missing = std::move(missing_.extract(missing_.begin()).value());
    }
    const auto& [base, id] = missing;
    try {
      for (const JobSummary& job : jobs_.all()) {
        if (job.model == base && (id.empty() || job.id == id)) serve(job);
      }
    } catch (const std::exception& failure) {
      if (notice_) notice_("fine-tuning: the models of " + base + ": " + failure.what());
    }
  }
}

/// Serves a job's model unless the engine does so, or the model was deleted meanwhile.
void TunedModels::serve(const JobSummary& job) {
  if (!has_model(job)) return;
  const std::scoped_lock lock(serving_);
  const auto now = jobs_.summary(job.id, job.owner);
  if (!now || !has_model(*now) || trainer_.serves(job.fine_tuned_model)) return;
  const auto served =
      trainer_.serve(job.model, job.fine_tuned_model, jobs_.folder_of(job.id) / "adapter");
  // A base that is away now has its models served when it comes back.
  if (served || is_engine_away(served.error()) || !notice_) return;
  notice_("fine-tuning: " + job.fine_tuned_model + ": " + to_string(served.error()));
}

Result<void> TunedModels::remove(const JobSummary& job) {
  const std::scoped_lock lock(serving_);
  // An error is no failure if an admin has unloaded the model or its base. But a busy engine still
  // serves the model.
  const auto stopped = trainer_.stop_serving(job.model, job.fine_tuned_model);
  if (!stopped && stopped.error().code == EngineErrc::kOverloaded) return stopped.error();
  const auto changed = jobs_.change_anyway(job.id, [](JobRecord& record) -> Result<void> {
    if (record.model_is_deleted) return Error{JobsErrc::kNoSuchJob, record.fine_tuned_model};
    record.model_is_deleted = true;
    return {};
  });
  if (!changed && changed.error().code != JobsErrc::kNotWritten) return changed.error();
  discard(jobs_.folder_of(job.id) / "adapter");
  if (changed) return {};
  jobs_.write_pending();  // the adapter has made room on a full disk
  if (jobs_.is_pending(job.id)) return changed.error();
  return {};
}

}  // namespace weft
