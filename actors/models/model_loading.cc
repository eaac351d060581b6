// The work of the host's own thread: it loads and destroys models, one at a time.

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/models/device_memory.h"
#include "weft/actors/models/device_turns.h"
#include "weft/actors/models/model_host.h"
#include "weft/actors/models/model_slot.h"
#include "weft/actors/request/scheduled_requests.h"
#include "weft/core/error/caught_error.h"
#include "weft/core/thread.h"
#include "weft/core/time/unix_time.h"

namespace weft {
namespace {

/// How often a load that waits for room checks for it.
constexpr auto kLookAgain = std::chrono::milliseconds(10);

/// Returns why a request that waits for its model must end now; nothing if it may wait on.
std::optional<Error> why_over(ActiveRequest& request, TimePoint now) {
  const EndCause cause = request.end_cause();
  if (cause != EndCause::kNone && cause != EndCause::kStop) return request_ending(cause);
  const auto deadline = deadline_of(request);
  if (deadline && *deadline <= now) return request_ending(EndCause::kDeadline);
  return std::nullopt;
}

/// Returns the reason of the loss; empty if there is no memory for it.
std::string why_lost(const ExitReport& report) noexcept {
  try {
    return report.actor + ": " + std::string(to_string(report.reason.kind)) + ": " +
           report.reason.what;
  } catch (const std::exception&) {
    return {};
  }
}

void tell_all(std::vector<ModelDone>& told, const Result<void>& result) {
  for (const ModelDone& done : told) done(result);
}

}  // namespace

void ModelHost::work() {
  name_this_thread("weft-models");
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return stop_.stop_requested() || !jobs_.empty(); });
    if (stop_.stop_requested()) break;
    lock.unlock();
    const bool done = run_one_job();
    lock.lock();
    if (!done) has_work_.wait_for(lock, kLookAgain, [this] { return stop_.stop_requested(); });
  }
  lock.unlock();
  refuse_all();
  stop_count_->leave();
}

bool ModelHost::run_one_job() {
  std::unique_lock lock(mutex_);
  if (stop_.stop_requested() || jobs_.empty()) return false;
  Job& job = jobs_.front();  // other threads only add jobs behind it
  lock.unlock();
  bool done = true;
  try {
    done = run(job);
  } catch (const std::exception&) {  // there was no memory
    done = job.kind != Job::Kind::kLose;
    if (done) give_up(*job.slot);
  }
  lock.lock();
  if (done) jobs_.erase(jobs_.begin());
  return done;
}

/// Returns whether the job is done; otherwise it must wait and is tried again.
bool ModelHost::run(Job& job) {
  switch (job.kind) {
    case Job::Kind::kLoad:
      return load(*job.slot);
    case Job::Kind::kUnload:
      unload(*job.slot);
      return true;
    case Job::Kind::kLose:
      lose(*job.slot, job.why);
      return true;
  }
  return true;
}

/// Cleans up after a job that has thrown.
void ModelHost::give_up(Slot& slot) noexcept {
  const Error why{EngineErrc::kInternal, {}};
  std::vector<Slot::Waiting> waiting;
  std::vector<ModelDone> told;
  {
    const std::scoped_lock lock(mutex_);
    slot.leaving = false;
    if (slot.state == ModelState::kLoading ||
        (slot.state == ModelState::kUnloading && slot.running == nullptr)) {
      slot.state = ModelState::kFailed;
      slot.failure = why;
    }
    waiting = std::exchange(slot.waiting, {});
    told = std::exchange(slot.told, {});
    try {
      publish();
    } catch (const std::exception&) {  // the list shows the change with the next one
    }
  }
  tell_all(told, why);
  for (Slot::Waiting& one : waiting) std::move(one.ticket).fail(why);
}

/// Returns false if there is no room now, but may be soon.
bool ModelHost::load(Slot& slot) {
  Room room;
  {
    const std::scoped_lock lock(mutex_);
    room = make_room();
  }
  if (room.later) {
    end_waiting();
    return false;
  }
  if (!room.found) {
    finish_load(slot,
                Error{EngineErrc::kOverloaded, "no model that is loaded is idle and could leave"});
    return true;
  }
  if (room.leaves) {
    room.leaves = nullptr;  // destroys it, for the new model's memory
    try {
      finish_unload(*room.from);
    } catch (const std::exception&) {
      give_up(*room.from);
      throw;
    }
  }
  finish_load(slot, make(slot));
  return true;
}

/// Takes a model that must leave for another one out of its slot.
ModelHost::Room ModelHost::make_room() {
  const auto in_memory =
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.running != nullptr; });
  if (config_.max_loaded == 0 || in_memory < config_.max_loaded) return {.found = true};
  const TimePoint now = clock_->now();
  bool later = false;
  Slot* oldest = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state != ModelState::kLoaded || slot.running->gate.holders() > 0) continue;
    if (slot.expected > 0 && now < slot.expected_until) {
      later = true;
      continue;
    }
    if (oldest == nullptr || slot.used < oldest->used) oldest = &slot;
  }
  if (oldest == nullptr) return {.later = later};
  set_state(*oldest, ModelState::kUnloading);
  oldest->leaving = true;
  return {.found = true, .leaves = std::move(oldest->running), .from = oldest};
}

PipelineOptions ModelHost::options_for(Slot& slot, Config& config,
                                       const std::shared_ptr<ModelUse>& use) {
  PipelineOptions options = options_.pipeline;
  if (config_.models.size() > 1) options.model = slot.config.name;
  if (auto budget = memory_->fit(slot.config, config)) options.memory_budget = std::move(budget);
  options.progress.stop = stop_.get_token();
  options.progress.tell = [this, told = std::move(options.progress.tell)](std::int64_t done,
                                                                          std::int64_t total) {
    end_waiting();
    if (told) told(done, total);
  };
  options.system.on_exit = [this, &slot,
                            told = std::move(options.system.on_exit)](const ExitReport& report) {
    if (told) told(report);
    const bool lost = report.action == SupervisionAction::kNotReady;
    if (!lost || report.reason.kind == ExitKind::kStopped) return;
    const std::scoped_lock lock(mutex_);
    add_job({Job::Kind::kLose, &slot, why_lost(report)});
  };
  const std::string device = shared_device_of(config);
  if (!memory_->is_shared(device)) return options;
  std::shared_ptr<DeviceTurns>& turns = turns_[device];
  if (turns == nullptr) turns = std::make_shared<DeviceTurns>(clock_);
  options.before_device = [turns, use, share = slot.config.share](auto inner) {
    return turns->share(std::move(inner), share, use);
  };
  return options;
}

Result<std::unique_ptr<ModelHost::Running>> ModelHost::make(Slot& slot) {
  try {
    auto running = std::make_unique<Running>();
    running->use = std::make_shared<ModelUse>();
    Config config = slot.config.config;
    const PipelineOptions options = options_for(slot, config, running->use);
    running->port = options_.make(executor_, config, options);
    return running;
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

void ModelHost::finish_load(Slot& slot, Result<std::unique_ptr<Running>> loaded) {
  Error problem = loaded ? Error() : loaded.error();
  std::vector<Slot::Waiting> waiting;
  std::vector<ModelDone> told;
  ModelInfo info;
  std::size_t count = 0;
  {
    const std::scoped_lock lock(mutex_);
    // stop() was called before this pipeline existed, so it is destroyed when the function returns.
    if (stop_.stop_requested()) problem = Error{EngineErrc::kStopping, {}};
    if (!problem.code) {
      slot.running = *std::move(loaded);
      slot.state = ModelState::kLoaded;
      slot.created = unix_time();
      slot.used = ++uses_;
      slot.expected = slot.told.size();
      slot.expected_until = clock_->now() + kFirstUse;
    } else if (problem.code == EngineErrc::kOverloaded || problem.code == EngineErrc::kStopping) {
      slot.state = ModelState::kUnloaded;
    } else {
      slot.state = ModelState::kFailed;
      slot.failure = problem;
    }
    publish();
    info = info_of(slot);
    count = loaded_count();
    waiting = std::exchange(slot.waiting, {});
    told = std::exchange(slot.told, {});
  }
  tell(info, count);
  // First, so that no caller who is told can unload the model before the waiting requests get it.
  for (Slot::Waiting& one : waiting) submit_again(std::move(one.ticket), problem);
  tell_all(told, problem.code ? Result<void>(problem) : Result<void>());
}

/// Submits a request that has waited to its model, or ends it with the model's problem.
void ModelHost::submit_again(RequestTicket ticket, const Error& problem) {
  if (const auto why = why_over(*ticket, clock_->now())) return std::move(ticket).fail(*why);
  if (problem.code == EngineErrc::kOverloaded) return std::move(ticket).fail(problem);
  submit(std::move(ticket));
}

/// Ends waiting requests of all models that were asked to end or whose deadline has passed.
void ModelHost::end_waiting() {
  const TimePoint now = clock_->now();
  std::vector<Slot::Waiting> ended;
  {
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) {
      const auto first = std::ranges::stable_partition(slot.waiting, [now](Slot::Waiting& one) {
                           return !why_over(*one.ticket, now);
                         }).begin();
      std::move(first, slot.waiting.end(), std::back_inserter(ended));
      slot.waiting.erase(first, slot.waiting.end());
    }
  }
  for (Slot::Waiting& one : ended) {
    Error why = why_over(*one.ticket, now).value_or(request_ending(EndCause::kDeadline));
    std::move(one.ticket).fail(std::move(why));
  }
}

void ModelHost::unload(Slot& slot) {
  std::unique_ptr<Running> leaves;
  {
    const std::scoped_lock lock(mutex_);
    leaves = std::move(slot.running);
    slot.leaving = true;
  }
  leaves = nullptr;
  finish_unload(slot);
}

/// Notes that the model has left memory.
void ModelHost::finish_unload(Slot& slot) {
  std::vector<ModelDone> told;
  ModelInfo info;
  std::size_t count = 0;
  {
    const std::scoped_lock lock(mutex_);
    slot.leaving = false;
    // A lost model keeps its failure, unless a caller wants it unloaded.
    const bool wanted = slot.state == ModelState::kUnloading || !slot.told.empty();
    if (wanted) slot.state = ModelState::kUnloaded;
    if (slot.state == ModelState::kUnloaded) slot.failure = Error();
    publish();
    info = info_of(slot);
    count = loaded_count();
    // Requests that arrived meanwhile load it again.
    if (slot.state == ModelState::kUnloaded && !slot.waiting.empty()) begin_load(slot);
    told = std::exchange(slot.told, {});
  }
  if (info.state != ModelState::kFailed) tell(info, count);
  tell_all(told, {});
}

/// Marks a model as lost. May be called again if it has thrown.
void ModelHost::lose(Slot& slot, const std::string& why) {
  Gate::Holder mine;
  std::unique_lock lock(mutex_);
  Error failure{EngineErrc::kNotReady, why};
  if (slot.state == ModelState::kLoaded) {
    mine = close(slot, ModelState::kFailed, std::move(failure));
  } else if (slot.state == ModelState::kUnloading) {
    set_state(slot, ModelState::kFailed, std::move(failure));
  } else {
    return;
  }
  const ModelInfo info = info_of(slot);
  const std::size_t count = loaded_count();
  lock.unlock();
  tell(info, count);
}

void ModelHost::tell(const ModelInfo& model, std::size_t loaded) const {
  if (!options_.on_change) return;
  try {
    options_.on_change(model, loaded);
  } catch (const std::exception&) {  // an observer's exception does not affect the models
  }
}

void ModelHost::refuse_all() {
  std::vector<Slot::Waiting> waiting;
  std::vector<ModelDone> told;
  {
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) {
      std::ranges::move(std::exchange(slot.waiting, {}), std::back_inserter(waiting));
      std::ranges::move(std::exchange(slot.told, {}), std::back_inserter(told));
    }
  }
  for (Slot::Waiting& one : waiting) std::move(one.ticket).fail({EngineErrc::kStopping, {}});
  tell_all(told, Error{EngineErrc::kStopping, {}});
}

}  // namespace weft
