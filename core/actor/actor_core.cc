#include "weft/core/actor/actor_core.h"

#include <algorithm>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/require.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "weft/core/actor/actor_timer_slot.h"
#include "weft/core/background.h"
#include "weft/core/error/internal_error.h"
#include "weft/core/thread.h"

namespace weft {

ActorMetrics::ActorMetrics(MetricsRegistry& registry, const std::string& actor)
    : messages(registry.counter("weft_actor_messages_total", "Messages an actor has handled.",
                                {{"actor", actor}})),
      activations(registry.counter("weft_actor_activations_total",
                                   "Batches of messages an actor has handled.",
                                   {{"actor", actor}})),
      refused(registry.counter("weft_actor_refused_total",
                               "Messages refused because the actor's mailbox was full.",
                               {{"actor", actor}})),
      restarts(registry.counter("weft_actor_restarts_total",
                                "New instances that took over after a failure.",
                                {{"actor", actor}})),
      depth(registry.gauge("weft_actor_mailbox_messages",
                           "Messages that waited when the actor was last active.",
                           {{"actor", actor}})),
      wait(registry.histogram("weft_actor_wait_seconds",
                              "Time in the mailbox of the first message of each batch.",
                              kTickBounds, {{"actor", actor}})) {}

namespace {

ActorOptions checked(ActorOptions options) {
  if (options.capacity == 0 || options.messages_per_activation == 0) {
    throw std::invalid_argument("actor \"" + options.name +
                                "\": capacity and messages_per_activation are at least 1");
  }
  return options;
}

}  // namespace

ActorCore::ActorCore(ActorId id, ActorOptions options,
                     std::shared_ptr<ActorEnvironment> environment)
    : id_(id),
      options_(checked(std::move(options))),
      environment_(std::move(environment)),
      clock_(*environment_->clock),
      tap_(environment_->tap),
      context_(*this),
      metrics_(*environment_->metrics, options_.name),
      post_executor_(
          boost::asio::require(environment_->executor, boost::asio::execution::blocking.never)) {}

ActorCore::~ActorCore() = default;

void ActorCore::start(Gate::Holder holder) {
  if (started_) internal_error(options_.name + " is started twice");
  if (dedicated()) {
    holder_ = std::move(holder);
    start_thread();
    started_ = true;
    return;
  }
  create({});
  started_ = true;
  holder_ = std::move(holder);
  wake();
}

void ActorCore::request_stop() noexcept {
  stop_requested_.store(true, std::memory_order_release);
  signal();
}

void ActorCore::stop_now() noexcept {
  request_stop();
  if (thread_.joinable()) thread_.join();
  while (!exited()) {
    if (claim(Baton::kResting) || claim(Baton::kScheduled)) {
      turn();
    } else {
      std::this_thread::yield();  // a turn is under way; the one after it will see the request
    }
  }
}

// ---- Event-driven: turns are posted.

bool ActorCore::claim(Baton from) noexcept {
  return baton_.compare_exchange_strong(from, Baton::kRunning, std::memory_order_acq_rel);
}

void ActorCore::wake() noexcept {
  if (dedicated()) {
    parker_.unpark();
    return;
  }
  for (Baton baton = baton_.load(std::memory_order_acquire);;) {
    if (baton != Baton::kResting && baton != Baton::kRunning) return;
    const bool resting = baton == Baton::kResting;
    const Baton next = resting ? Baton::kScheduled : Baton::kWoken;
    if (!baton_.compare_exchange_weak(baton, next, std::memory_order_acq_rel)) continue;
    if (resting) post_turn();
    return;
  }
}

void ActorCore::post_turn() noexcept {
  try {
    post_executor_.execute([self = shared_from_this()] { self->run_posted_turn(); });
  } catch (...) {  // no memory for the post: the next push or signal tries again
    if (!claim(Baton::kScheduled)) return;
    do {
      baton_.store(Baton::kRunning, std::memory_order_release);
      sleep_anyway();
    } while (!rest());
  }
}

void ActorCore::run_posted_turn() noexcept {
  if (!claim(Baton::kScheduled)) return;  // stop_now() was quicker
  if (!turn()) return;
  if (!busy() && try_sleep() && rest()) return;
  baton_.store(Baton::kScheduled, std::memory_order_release);
  post_turn();
}

// Called after the mailbox has fallen asleep. Returns false when it was woken again since.
bool ActorCore::rest() noexcept {
  Baton running = Baton::kRunning;
  return baton_.compare_exchange_strong(running, Baton::kResting, std::memory_order_acq_rel);
}

// ---- Dedicated thread: turns run in a loop.

void ActorCore::start_thread() {
  std::promise<void> created;
  std::future<void> outcome = created.get_future();
  baton_.store(Baton::kRunning, std::memory_order_release);
  try {
    thread_ = std::thread([self = shared_from_this(), created = std::move(created)]() mutable {
      self->thread_main(created);
    });
    outcome.get();
  } catch (...) {
    if (thread_.joinable()) thread_.join();
    baton_.store(Baton::kResting, std::memory_order_release);
    holder_.leave();
    throw;
  }
}

void ActorCore::thread_main(std::promise<void>& created) noexcept {
  try {
    name_this_thread(options_.name);
    ask_for_short_slices();
    if (options_.thread->goes_last) let_others_go_first();
    if (options_.thread->cpu) {
      if (const auto error = pin_this_thread(*options_.thread->cpu)) {
        throw boost::system::system_error(
            error, options_.name + ": cpu " + std::to_string(*options_.thread->cpu));
      }
    }
    create({});
  } catch (...) {
    created.set_exception(std::current_exception());
    return;
  }
  created.set_value();
  while (turn()) {
    if (!busy()) wait_for_work();
  }
}

void ActorCore::wait_for_work() noexcept {
  constexpr int kLooksPerClockRead =
      64;  // about a microsecond of pauses: reading the clock stays cheap beside it
  const Duration spin = options_.thread->spin;
  if (spin > Duration{0}) {
    const auto until = std::chrono::steady_clock::now() + spin;
    do {
      for (int look = 0; look < kLooksPerClockRead; ++look) {
        if (busy()) return;
        pause_thread();
      }
    } while (std::chrono::steady_clock::now() < until);
  }
  if (try_sleep()) parker_.park();
}

// ---- One turn.

bool ActorCore::turn() noexcept {
  try {
    if (take_signal()) {
      if (stop_requested_.load(std::memory_order_acquire)) {
        retire({ExitKind::kStopped, {}}, stopped_);
        return false;
      }
      run_timers();
    }
    handle_batch();
    return true;
  } catch (...) {
    return fail(std::current_exception());
  }
}

void ActorCore::run_timers() {
  // A handler may make and destroy timers, so after each one the search starts again.
  const auto expired = [](const auto& slot) { return slot->take_expired(); };
  for (auto due = std::ranges::find_if(timers_, expired); due != timers_.end();
       due = std::ranges::find_if(timers_, expired)) {
    const auto slot = std::shared_ptr(*due);  // the handler may drop the timer
    slot->handler();
  }
}

bool ActorCore::fail(const std::exception_ptr& exception) noexcept {
  const ExitReason reason = exit_reason(exception);
  const SupervisionAction action = decide(reason.kind);
  report(reason, action);
  answer_in_hand(failed_);
  if (action == SupervisionAction::kFailRequests) answer_waiting(failed_);
  if (action != SupervisionAction::kNotReady && restart(failed_)) return true;
  environment_->ready.store(false, std::memory_order_release);
  retire(reason, not_ready_);
  return false;
}

SupervisionAction ActorCore::decide(ExitKind kind) noexcept {
  const SupervisionAction action = find_action(environment_->supervision, options_.role, kind);
  if (action == SupervisionAction::kNotReady) return action;
  // A restart costs the message, and senders must not be able to end an actor by their messages.
  if (action == SupervisionAction::kRestart && message_in_hand()) return action;
  const TimePoint now = clock_.now();
  TimePoint& oldest = restarts_[restart_count_ % restarts_.size()];
  if (restart_count_ >= restarts_.size() && now - oldest < defaults::kRestartWindow) {
    return SupervisionAction::kNotReady;
  }
  oldest = now;
  ++restart_count_;
  return action;
}

bool ActorCore::restart(const Error& why) noexcept {
  try {
    create(why);
  } catch (...) {
    const ExitReason reason = exit_reason(std::current_exception());
    report(reason, SupervisionAction::kNotReady);
    return false;
  }
  metrics_.restarts.add();
  return true;
}

void ActorCore::retire(const ExitReason& reason, const Error& why) noexcept {
  if (reason.kind == ExitKind::kStopped) report(reason, SupervisionAction::kRestart);
  close_and_answer(why);
  destroy(why);
  holder_.leave();  // first: stop_now() takes kExited to mean that the system can go
  baton_.store(Baton::kExited, std::memory_order_release);
}

void ActorCore::report(const ExitReason& reason, SupervisionAction action) noexcept {
  if (!environment_->on_exit) return;
  try {
    environment_->on_exit({id_, options_.name, options_.role, reason, action});
  } catch (...) {  // a report that cannot be made must not end the actor
  }
}

}  // namespace weft
