#include "weft/jobs/tuning/job_runner.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/background.h"
#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/core/thread.h"
#include "weft/core/time/unix_time.h"
#include "weft/jobs/folder_entries.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/tuning/job_failure.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

/// A job that was cancelled or paused meanwhile.
Error stopped() { return {JobsErrc::kWrongState, "the job was stopped"}; }

bool is_under_way(JobStatus status) {
  return status == JobStatus::kValidating || status == JobStatus::kRunning;
}

std::string count_text(std::int64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

}  // namespace

/// A job while it is under way; the runner's thread alone has it.
struct JobRunner::Run {
  Run(JobRecord record, fs::path place, std::int64_t every)
      : job(std::move(record)),
        folder(std::move(place)),
        data(folder / "data.jsonl"),
        state(folder / "state"),
        adapter(folder / "adapter"),
        metrics(folder / "metrics.csv"),
        progress(std::make_shared<JobProgress>(every)) {}

  const JobRecord job;  ///< as it was when it began
  const fs::path folder, data, state, adapter;
  const MetricsFile metrics;
  const std::shared_ptr<JobProgress> progress;
  std::stop_token stop{};
  PreparedJob prepared{};
  std::vector<StepReport> unsaved{};  ///< steps that are not in the metrics' file yet
  double loss = 0;                    ///< of the newest step
  steady_clock::time_point began{};
  std::int64_t first_step = 0;
};

JobRunner::JobRunner(JobStore& jobs, FileStore& files, JobTrainer& trainer, Options options)
    : jobs_(jobs), files_(files), trainer_(trainer), options_(std::move(options)), thread_([this] {
        work();
      }) {}

JobRunner::~JobRunner() {
  end();
  thread_.join();
}

void JobRunner::end() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    stop_locked();
  }
  changed_.notify_all();
}

void JobRunner::wake() {
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void JobRunner::stop(const std::string& id) {
  {
    const std::scoped_lock lock(mutex_);
    if (current_ && current_->id == id) stop_locked();
  }
  changed_.notify_all();  // it may wait for its disk
}

void JobRunner::stop_locked() const {
  if (!current_) return;
  current_->stop.request_stop();
  if (current_->task) current_->task->cancel();
}

void JobRunner::give_task(const TrainingTask& task) {
  const std::scoped_lock lock(mutex_);
  current_->task = task;
  if (current_->stop.stop_requested()) task.cancel();
}

void JobRunner::work() {
  let_others_go_first();
  name_this_thread("tuning-jobs");
  while (const auto job = wait_for_job()) {
    if (begin(*job)) run(*job);
    leave();
  }
  jobs_.write_pending();
}

std::optional<JobRecord> JobRunner::wait_for_job() {
  for (;;) {
    jobs_.write_pending();
    std::unique_lock lock(mutex_);
    if (std::exchange(must_wait_, false))
      changed_.wait_for(lock, options_.retry_after, [this] { return ending_; });
    if (ending_) return std::nullopt;
    woken_ = false;
    if (auto job = jobs_.next_queued()) return job;
    const auto is_due = [this] { return ending_ || woken_; };
    if (jobs_.has_pending()) {
      changed_.wait_for(lock, options_.retry_after, is_due);
    } else {
      changed_.wait(lock, is_due);
    }
  }
}

/// Takes a job that is still queued.
bool JobRunner::begin(const JobRecord& job) {
  {
    const std::scoped_lock lock(mutex_);
    current_.emplace(Current{job.id});
    if (ending_) current_->stop.request_stop();
  }
  const auto begun = jobs_.change(job.id, [](JobRecord& record) -> Result<void> {
    if (record.status != JobStatus::kQueued) return stopped();
    record.status = JobStatus::kValidating;
    return {};
  });
  if (begun) return true;
  if (begun.error().code != JobsErrc::kWrongState) {
    tell(job.id + ": " + to_string(begun.error()));
    const std::scoped_lock lock(mutex_);
    must_wait_ = true;
  }
  return false;
}

void JobRunner::leave() {
  const std::scoped_lock lock(mutex_);
  current_.reset();
}

void JobRunner::tell(const std::string& what) const {
  if (options_.notice) options_.notice("fine-tuning: " + what);
}

void JobRunner::run(const JobRecord& job) {
  Run run(job, jobs_.folder_of(job.id), options_.checkpoint_steps);
  {
    const std::scoped_lock lock(mutex_);
    run.stop = current_->stop.get_token();
  }
  Result<void> done;
  try {
    done = prepare(run);
    if (done) done = train(run);
    if (done) done = complete(run);
  } catch (const std::exception& failure) {
    done = Error{EngineErrc::kInternal, failure.what()};
  }
  try {
    if (!done) end_early(run, done.error());
  } catch (const std::exception& failure) {
    tell(job.id + ": " + failure.what());
    queue_again(job.id);
    const std::scoped_lock lock(mutex_);
    must_wait_ = true;
  }
}

/// Queues a job whose record cannot be written, in memory alone; the next process does the same.
void JobRunner::queue_again(const std::string& id) const {
  jobs_.note(id, [](JobRecord& job) {
    if (is_under_way(job.status)) job.status = JobStatus::kQueued;
  });
}

Result<void> JobRunner::patiently(Run& run, const std::function<Result<void>()>& write) {
  for (bool is_first = true;; is_first = false) {
    auto done = write();
    const bool may_wait = !done && done.error().code == FileErrc::kCannotWrite;
    if (may_wait && wait_for_room(run, done.error(), is_first)) continue;
    if (done && !is_first) {
      jobs_.note(run.job.id, [](JobRecord& job) {
        job.add_event({.text = "The server's disk has room again; the job goes on"});
      });
    }
    return done;
  }
}

/// Returns false if the job was stopped instead.
bool JobRunner::wait_for_room(Run& run, const Error& why, bool is_first) {
  if (run.stop.stop_requested()) return false;
  if (is_first) {
    tell(run.job.id + ": waits until it can write: " + to_string(why));
    jobs_.note(run.job.id, [](JobRecord& job) {
      job.add_event({.level = "warn",
                     .text = "The server's disk takes no more; the job waits, and loses nothing"});
    });
  }
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, options_.retry_after, [&] { return run.stop.stop_requested(); });
}

Result<void> JobRunner::prepare(Run& run) {
  auto prepared = trainer_.prepare(run.job, run.data, run.stop);
  if (!prepared) return prepared.error();
  run.prepared = *std::move(prepared);
  if (auto restored = restore(run); !restored) return restored;
  const JobPlan& plan = run.prepared.plan;
  const auto begin = [&](JobRecord& job) -> Result<void> {
    if (job.status != JobStatus::kValidating) return stopped();
    job.status = JobStatus::kRunning;
    job.settings.epochs = plan.epochs;
    job.settings.batch = plan.batch;
    job.settings.rate_multiplier = plan.rate_multiplier;
    job.steps = run.prepared.work->iterations();
    if (!plan.learnt.empty()) job.add_event({.text = plan.learnt});
    if (plan.cut > 0)
      job.add_event({.level = "warn", .text = count_text(plan.cut, "examples are too long: cut")});
    if (plan.left_out > 0) {
      job.add_event(
          {.level = "warn",
           .text = count_text(plan.left_out, "examples have nothing to learn: left out")});
    }
    job.add_event({.text = "Files validated, moving job to running state"});
    return {};
  };
  return patiently(run, [&] { return jobs_.change_only(run.job.id, begin); });
}

/// Goes on from the state that an earlier run has left.
Result<void> JobRunner::restore(Run& run) {
  JobWork& work = *run.prepared.work;
  std::error_code missing;
  std::string warning;
  if (fs::exists(run.state, missing)) {
    const auto restored = work.restore(run.state);
    if (!restored && restored.error().code != TrainErrc::kBadState) return restored;
    if (!restored) warning = "The saved state is of other data or another model; begun again";
  }
  run.first_step = work.iterations_done();
  MetricsFile::Left left;
  const auto cut = [&]() -> Result<void> {
    const auto kept = run.metrics.cut(run.first_step);
    if (!kept) return kept.error();
    left = *kept;
    return {};
  };
  if (auto done = patiently(run, cut); !done) return done;
  run.loss = left.loss;
  jobs_.note(run.job.id, [&](JobRecord& job) {
    job.steps_done = run.first_step;
    job.trained_tokens = left.tokens;
    std::erase_if(job.events, [&](const JobEvent& event) { return event.step > run.first_step; });
    if (!warning.empty()) job.add_event({.level = "warn", .text = warning});
    if (run.first_step > 0)
      job.add_event({.text = "Continued behind step " + std::to_string(run.first_step)});
  });
  return {};
}

Result<void> JobRunner::train(Run& run) {
  run.prepared.work->tell(run.progress);
  run.progress->begin();
  run.began = steady_clock::now();
  const TrainingTask task(run.prepared.work);
  give_task(task);
  trainer_.train(task,
                 [progress = run.progress](Result<void> done) { progress->end(std::move(done)); });
  try {
    return follow(run);
  } catch (...) {
    task.cancel();  // the work is the engine's until the task has ended
    while (!run.progress->wait().end) {
    }
    throw;
  }
}

/// Keeps what the training tells, and returns its end.
Result<void> JobRunner::follow(Run& run) const {
  for (;;) {
    JobProgress::News news = run.progress->wait();
    note(run, news);
    if (news.state) {
      if (const auto saved = save(run, *news.state); !saved)
        tell(run.job.id + ": " + to_string(saved.error()));
    }
    if (news.end) return *std::move(news.end);
  }
}

void JobRunner::note(Run& run, const JobProgress::News& news) const {
  const std::vector<StepReport>& steps = news.steps;
  if (steps.empty()) return;
  for (std::size_t i = 0; options_.metrics != nullptr && i < steps.size(); ++i)
    options_.metrics->count_step(steps[i].tokens, news.seconds[i]);
  run.unsaved.insert(run.unsaved.end(), steps.begin(), steps.end());
  run.loss = steps.back().loss;
  const std::chrono::duration<double> took = steady_clock::now() - run.began;
  jobs_.note(run.job.id, [&](JobRecord& job) {
    for (const StepReport& step : steps) {
      job.trained_tokens += step.tokens;
      job.add_event({.text = "Step " + std::to_string(step.step) + "/" + std::to_string(job.steps) +
                             ": training loss=" + std::to_string(step.loss),
                     .step = step.step,
                     .loss = step.loss,
                     .rate = step.rate});
    }
    job.steps_done = steps.back().step;
    const auto done = static_cast<double>(job.steps_done - run.first_step);
    const auto left = static_cast<double>(job.steps - job.steps_done);
    job.estimated_finish =
        unix_time() + static_cast<std::int64_t>(took.count() / std::max(done, 1.0) * left);
  });
}

/// Writes metrics first, then the state, then the record: what a process that ends in between has
/// left, restore() makes fit the state.
Result<void> JobRunner::save(Run& run, const StateToSave& state) const {
  const auto behind = std::ranges::find_if(
      run.unsaved, [&](const StepReport& step) { return step.step > state.step; });
  const auto count = behind - run.unsaved.begin();
  if (auto done = run.metrics.append(std::span(run.unsaved).first(static_cast<std::size_t>(count)));
      !done)
    return done;
  if (count > 0) run.loss = std::prev(behind)->loss;
  run.unsaved.erase(run.unsaved.begin(), behind);
  if (auto done = state.save(run.state); !done) return done;
  const auto changed = jobs_.change(run.job.id, [&](JobRecord& job) -> Result<void> {
    job.checkpoint = {.step = state.step, .loss = run.loss, .created = unix_time()};
    return {};
  });
  if (!changed) return changed.error();
  jobs_.write_pending();
  return {};
}

Result<void> JobRunner::complete(Run& run) {
  JobWork& work = *run.prepared.work;
  const std::string name = tuned_model_name(run.job);
  const StateToSave last{work.iterations_done(),
                         [&work](const fs::path& path) { return work.save(path); }};
  if (auto done = patiently(run, [&] { return save(run, last); }); !done) return done;
  if (auto done = patiently(run, [&] { return write_adapter(run); }); !done) return done;
  if (auto done = trainer_.serve(run.job.model, name, run.adapter); !done) return done;
  std::string results;
  const auto succeed = [&](JobRecord& job) -> Result<void> {
    if (job.status != JobStatus::kRunning) return stopped();
    job.status = JobStatus::kSucceeded;
    job.finished = unix_time();
    job.fine_tuned_model = name;
    if (!results.empty()) job.result_files.push_back(results);
    job.add_event({.text = "New fine-tuned model created: " + name});
    job.add_event({.text = "The job has successfully completed"});
    return {};
  };
  auto done = patiently(run, [&] { return keep_metrics(run, results); });
  if (done) done = patiently(run, [&] { return jobs_.change_only(run.job.id, succeed); });
  if (!done) {
    static_cast<void>(trainer_.stop_serving(run.job.model, name));
    discard_results(run);
    return done;
  }
  if (options_.on_model) options_.on_model(run.job);
  discard_training(run.folder);
  return {};
}

Result<void> JobRunner::write_adapter(Run& run) const {
  discard(run.adapter);  // of a run that ended behind this
  auto draft = Draft::make(run.adapter, Draft::Kind::kFolder);
  if (!draft) return draft.error();
  if (auto done = run.prepared.work->write_adapter(draft->place(), run.job.model); !done)
    return done;
  return draft->finish();
}

/// Keeps the metrics as a file of the job's owner, which may have no room for it.
Result<void> JobRunner::keep_metrics(Run& run, std::string& file) const {
  const auto text = run.metrics.text();
  if (!text) return {};
  // A run that was killed behind this has kept them, perhaps of other steps.
  const std::string id = result_file_id(run.job);
  const auto erased = files_.erase(id, run.job.owner);
  if (!erased && erased.error().code != JobsErrc::kNoSuchFile) return erased.error();
  const auto kept = files_.add({.id = id,
                                .owner = run.job.owner,
                                .name = "step_metrics.csv",
                                .purpose = std::string(kFineTuneResultsPurpose)},
                               *text);
  if (kept) file = kept->id;
  if (kept) return {};
  const auto code = kept.error().code;
  if (code != JobsErrc::kFull && code != JobsErrc::kFileTooLarge) return kept.error();
  tell(run.job.id + ": its metrics are not kept: " + to_string(kept.error()));
  return {};
}

/// Removes the metrics that this run or a killed one has kept.
void JobRunner::discard_results(const Run& run) const {
  static_cast<void>(files_.erase(result_file_id(run.job), run.job.owner));
}

void JobRunner::end_early(Run& run, const Error& why) {
  const auto job = jobs_.summary(run.job.id, run.job.owner);
  if (!job) return;
  if (job->status == JobStatus::kCancelled) {
    discard_training(run.folder);
    discard(run.adapter);
    return;
  }
  const bool is_away = is_engine_away(why);
  if (!run.stop.stop_requested() && is_under_way(job->status) && !is_away) return fail(run, why);
  if (is_away && !run.stop.stop_requested()) {
    const std::scoped_lock lock(mutex_);
    must_wait_ = true;
  }
  interrupt(run);
}

/// Saves what was trained; the job goes on later.
void JobRunner::interrupt(Run& run) {
  const std::shared_ptr<JobWork> work = run.prepared.work;
  Result<void> done;
  if (work != nullptr && work->iterations_done() > run.first_step) {
    done = save(
        run, {work->iterations_done(), [&work](const fs::path& path) { return work->save(path); }});
  }
  const auto changed = jobs_.change(run.job.id, [](JobRecord& job) -> Result<void> {
    if (is_under_way(job.status)) job.status = JobStatus::kQueued;
    return {};
  });
  if (!changed) queue_again(run.job.id);
  if (done && !changed) done = changed.error();
  if (!done) tell(run.job.id + ": " + to_string(done.error()));
}

void JobRunner::fail(Run& run, const Error& why) {
  const auto changed = jobs_.change_anyway(run.job.id, [&](JobRecord& job) -> Result<void> {
    if (!is_under_way(job.status)) return stopped();
    job.status = JobStatus::kFailed;
    job.finished = unix_time();
    job.failure = failure_of(why, run.data);
    job.add_event({.level = "error", .text = job.failure->message});
    return {};
  });
  // The job was cancelled or paused since its record was looked at, and will not be under way here.
  if (!changed && changed.error().code == JobsErrc::kWrongState) return end_early(run, why);
  tell(run.job.id + ": failed: " + to_string(why));
  discard_results(run);
  // A process that is started before the record is written tries the job again.
  if (!changed) return tell(run.job.id + ": " + to_string(changed.error()));
  discard_training(run.folder);
  discard(run.adapter);
}

}  // namespace weft
