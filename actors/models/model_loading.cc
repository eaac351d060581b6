// What the host does on its own thread: models are loaded and destroyed, one at a time.

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/models/device_memory.h"
#include "weft/actors/models/device_turns.h"
#include "weft/actors/models/model_host.h"
#include "weft/actors/models/model_slot.h"
#include "weft/core/error/caught_error.h"
#include "weft/core/thread.h"

namespace weft {
namespace {

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void tell_all(std::vector<ModelDone>& told, const Result<void>& result) {
  for (const ModelDone& done : told) done(result);
}

}  // namespace

void ModelHost::work() {
  name_this_thread("weft-models");
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return stopping_.load() || !jobs_.empty(); });
    if (stopping_.load()) break;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    switch (job.kind) {
      case Job::Kind::kLoad:
        load(*job.slot);
        break;
      case Job::Kind::kUnload:
        unload(*job.slot);
        break;
      case Job::Kind::kLose:
        lose(*job.slot, std::move(job.why));
        break;
    }
    lock.lock();
  }
  lock.unlock();
  refuse_all();
  stop_count_->leave();
}

void ModelHost::load(Slot& slot) {
  Room room;
  {
    const std::scoped_lock lock(mutex_);
    room = make_room();
  }
  if (!room.found) {
    return finish_load(
        slot, Error{EngineErrc::kOverloaded, "no model that is loaded is idle and could leave"});
  }
  if (room.leaves) {
    room.leaves = nullptr;  // its memory is the new one's
    tell(room.who, room.loaded);
  }
  finish_load(slot, make(slot));
}

/// Takes the model out of its slot that has to leave for another one.
ModelHost::Room ModelHost::make_room() {
  const auto in_memory =
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.running != nullptr; });
  if (config_.max_loaded == 0 || in_memory < config_.max_loaded) return {.found = true};
  Slot* oldest = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state != ModelState::kLoaded || slot.running->gate.holders() > 0) continue;
    if (oldest == nullptr || slot.used < oldest->used) oldest = &slot;
  }
  if (oldest == nullptr) return {};
  Room room{.found = true, .leaves = std::move(oldest->running)};
  oldest->state = ModelState::kUnloaded;
  publish();
  room.who = info_of(*oldest);
  room.loaded = loaded_count();
  return room;
}

PipelineOptions ModelHost::options_for(Slot& slot, Config& config,
                                       const std::shared_ptr<ModelUse>& use) {
  PipelineOptions options = options_.pipeline;
  if (config_.models.size() > 1) options.model = slot.config.name;
  if (auto budget = memory_->fit(slot.config, config)) options.memory_budget = std::move(budget);
  options.progress = [this, &slot, told = std::move(options.progress)](std::int64_t done,
                                                                       std::int64_t total) {
    // Exceptions are how loading is left half-way: what was taken is given back on the way.
    if (stopping_.load()) throw boost::system::system_error(boost::asio::error::operation_aborted);
    end_cancelled(slot);
    if (told) told(done, total);
  };
  options.system.on_exit = [this, &slot,
                            told = std::move(options.system.on_exit)](const ExitReport& report) {
    if (told) told(report);
    const bool lost = report.action == SupervisionAction::kNotReady;
    if (!lost || report.reason.kind == ExitKind::kStopped) return;
    const std::scoped_lock lock(mutex_);
    add_job({Job::Kind::kLose, &slot,
             report.actor + ": " + std::string(to_string(report.reason.kind)) + ": " +
                 report.reason.what});
  };
  const std::string device = shared_device_of(config);
  if (!memory_->is_shared(device)) return options;
  std::shared_ptr<DeviceTurns>& turns = turns_[device];
  if (turns == nullptr) turns = std::make_shared<DeviceTurns>();
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
  const Error problem = loaded ? Error() : loaded.error();
  std::vector<RequestTicket> waiting;
  std::vector<ModelDone> told;
  ModelInfo info;
  std::size_t count = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (loaded) {
      slot.running = *std::move(loaded);
      slot.state = ModelState::kLoaded;
      slot.created = seconds_since_1970();
      slot.used = ++uses_;
    } else if (problem.code == EngineErrc::kOverloaded) {
      slot.state = ModelState::kUnloaded;
    } else {
      slot.state = ModelState::kFailed;
      slot.failure = problem;
    }
    waiting = std::exchange(slot.waiting, {});
    told = std::exchange(slot.told, {});
    publish();
    info = info_of(slot);
    count = loaded_count();
  }
  tell(info, count);
  tell_all(told, loaded ? Result<void>() : Result<void>(problem));
  for (RequestTicket& ticket : waiting) submit_again(std::move(ticket), problem);
}

/// A request that has waited goes to its model, or ends with why it is not there.
void ModelHost::submit_again(RequestTicket ticket, const Error& problem) {
  const EndCause cause = ticket->end_cause();
  if (cause != EndCause::kNone && cause != EndCause::kStop) {
    return std::move(ticket).fail(request_ending(cause));
  }
  if (problem.code == EngineErrc::kOverloaded) return std::move(ticket).fail(problem);
  submit(std::move(ticket));
}

void ModelHost::end_cancelled(Slot& slot) {
  std::vector<RequestTicket> ended;
  {
    const std::scoped_lock lock(mutex_);
    const auto goes_on = [](const RequestTicket& ticket) {
      const EndCause cause = ticket->end_cause();
      return cause == EndCause::kNone || cause == EndCause::kStop;
    };
    const auto first = std::stable_partition(slot.waiting.begin(), slot.waiting.end(), goes_on);
    ended.assign(std::move_iterator(first), std::move_iterator(slot.waiting.end()));
    slot.waiting.erase(first, slot.waiting.end());
  }
  for (RequestTicket& ticket : ended) {
    const Error why = request_ending(ticket->end_cause());
    std::move(ticket).fail(why);
  }
}

void ModelHost::unload(Slot& slot) {
  std::unique_ptr<Running> leaves;
  {
    const std::scoped_lock lock(mutex_);
    leaves = std::move(slot.running);
  }
  leaves = nullptr;
  std::vector<ModelDone> told;
  ModelInfo info;
  std::size_t count = 0;
  {
    const std::scoped_lock lock(mutex_);
    told = std::exchange(slot.told, {});
    // Of one that was lost the failure stays, unless somebody wants it unloaded.
    if (slot.state == ModelState::kUnloading || !told.empty()) slot.state = ModelState::kUnloaded;
    if (slot.state == ModelState::kUnloaded) slot.failure = Error();
    // Requests that came meanwhile bring it back.
    if (slot.state == ModelState::kUnloaded && !slot.waiting.empty()) begin_load(slot);
    publish();
    info = info_of(slot);
    count = loaded_count();
  }
  if (info.state != ModelState::kFailed) tell(info, count);
  tell_all(told, {});
}

void ModelHost::lose(Slot& slot, std::string why) {
  std::unique_lock lock(mutex_);
  if (slot.state != ModelState::kLoaded && slot.state != ModelState::kUnloading) return;
  const bool leaves_already = slot.state == ModelState::kUnloading;
  slot.state = ModelState::kFailed;
  slot.failure = Error{EngineErrc::kNotReady, std::move(why)};
  publish();
  const ModelInfo info = info_of(slot);
  const std::size_t count = loaded_count();
  if (leaves_already) {
    lock.unlock();
  } else {
    close(slot, lock);
  }
  tell(info, count);
}

void ModelHost::tell(const ModelInfo& model, std::size_t loaded) const {
  if (options_.on_change) options_.on_change(model, loaded);
}

void ModelHost::refuse_all() {
  std::vector<RequestTicket> waiting;
  std::vector<ModelDone> told;
  {
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) {
      std::ranges::move(std::exchange(slot.waiting, {}), std::back_inserter(waiting));
      std::ranges::move(std::exchange(slot.told, {}), std::back_inserter(told));
    }
  }
  for (RequestTicket& ticket : waiting) std::move(ticket).fail({EngineErrc::kStopping, {}});
  tell_all(told, Error{EngineErrc::kStopping, {}});
}

}  // namespace weft
