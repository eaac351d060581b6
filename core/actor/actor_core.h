#pragma once

#include <array>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/actor/actor.h"
#include "weft/core/actor/message_tap.h"
#include "weft/core/actor/supervision.h"
#include "weft/core/gate.h"
#include "weft/core/mailbox/parker.h"
#include "weft/core/mailbox/waker.h"
#include "weft/core/metrics.h"

namespace weft {

/// Reports the end of one instance of an actor to ActorSystemOptions::on_exit.
struct ExitReport {
  ActorId id;
  std::string actor;
  ActorRole role;
  ExitReason reason;
  SupervisionAction action;  ///< means nothing when reason.kind is kStopped
};

/// State that all actors of a system share. Each actor keeps it alive.
struct ActorEnvironment {
  boost::asio::any_io_executor executor{};
  std::shared_ptr<Clock> clock{};
  std::shared_ptr<MetricsRegistry> metrics{};
  std::vector<SupervisionRule> supervision{};
  std::function<void(const ExitReport&)> on_exit{};
  MessageTap* tap = nullptr;
  std::atomic<bool> ready{true};
};

/// The metrics of each actor, whose label is its name.
struct ActorMetrics {
  ActorMetrics(MetricsRegistry& registry, const std::string& actor);

  Counter& messages;
  Counter& activations;
  Counter& refused;
  Counter& restarts;
  Gauge& depth;
  Histogram& wait;  // The time in seconds that the longest-waiting message of each activation has
                    // waited.
};

/// The part of an actor that does not depend on its messages: when it runs, on which thread, what
/// happens when it fails, how it ends. ActorCell adds the mailbox.
///
/// One "turn" is: signals first (stop, timers), then up to messages_per_activation messages. Turns
/// never overlap. An event-driven actor's turns are posted to the executor, one at a time; the
/// right to run one is `baton_`, so that stop_now() can take it away from a post that has not
/// begun. A dedicated thread runs turns in a loop.
class ActorCore : public Waker, public std::enable_shared_from_this<ActorCore> {
 public:
  ActorCore(ActorId id, ActorOptions options, std::shared_ptr<ActorEnvironment> environment);
  ActorCore(const ActorCore&) = delete;
  ActorCore& operator=(const ActorCore&) = delete;
  virtual ~ActorCore();

  [[nodiscard]] ActorId id() const noexcept { return id_; }
  [[nodiscard]] const ActorOptions& options() const noexcept { return options_; }
  [[nodiscard]] ActorEnvironment& environment() const noexcept { return *environment_; }

  /// Creates the first instance and lets it run; `holder` is given back when the actor has exited.
  /// Once. Throws what the actor's constructor throws, or boost::system::system_error when its
  /// thread cannot be had as asked for.
  void start(Gate::Holder holder);

  /// Asks the actor to exit at its next turn; waiting messages get `stopped`. Thread-safe.
  void request_stop() noexcept;

  /// Makes the actor exit and returns when it has exited. The last turn runs on this thread, unless
  /// a turn is under way on another. Must not be called on the actor's own thread.
  void stop_now() noexcept;

  /// Sets an idle actor to work: posts a turn, or unparks the thread. Called by the mailbox.
  void wake() noexcept override;

  /// Whether the actor has exited for good. Thread-safe.
  [[nodiscard]] bool exited() const noexcept { return baton_.load() == Baton::kExited; }

 protected:
  // The mailbox's functions, implemented by ActorCell.
  virtual bool try_sleep() noexcept = 0;
  virtual void sleep_anyway() noexcept = 0;
  virtual bool take_signal() noexcept = 0;
  virtual void signal() noexcept = 0;
  virtual bool busy() const noexcept = 0;

  // Implemented by ActorCell for the actor's instance. create() makes the next instance; destroy()
  // ends the present one without a successor. Each tells the old instance why it ends.
  /// Makes a new instance, then tells the old one why it ends and destroys it. When the constructor
  /// throws, create() throws the same and the old instance stays, to answer what it can.
  virtual void create(const Error& why) = 0;
  virtual void destroy(const Error& why) noexcept = 0;
  /// Handles one batch; an exception leaves the message that caused it in hand.
  virtual void handle_batch() = 0;
  /// Whether the instance was given a message that its on() has not returned from.
  virtual bool message_in_hand() const noexcept = 0;
  /// Each function gives messages to undelivered(): answer_in_hand() the one in hand,
  /// answer_waiting() all that wait now, close_and_answer() all that will ever be pushed.
  virtual void answer_in_hand(const Error& why) noexcept = 0;
  virtual void answer_waiting(const Error& why) noexcept = 0;
  virtual void close_and_answer(const Error& why) noexcept = 0;

  [[nodiscard]] ActorMetrics& metrics() noexcept { return metrics_; }
  [[nodiscard]] ActorContext& context() noexcept { return context_; }
  [[nodiscard]] Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] MessageTap* tap() const noexcept { return tap_; }

 private:
  friend class ActorTimer;
  friend class ActorContext;

  enum class Baton : std::uint8_t {
    kResting,    // no turn is posted, the mailbox is asleep
    kScheduled,  // a turn is posted
    kRunning,    // a turn is under way
    kWoken,      // a turn is under way, and after it comes another
    kExited,
  };

  bool dedicated() const noexcept { return options_.thread.has_value(); }
  bool claim(Baton from) noexcept;
  void post_turn() noexcept;
  bool rest() noexcept;
  void run_posted_turn() noexcept;

  void start_thread();
  void thread_main(std::promise<void>& created) noexcept;
  void wait_for_work() noexcept;

  bool turn() noexcept;
  void run_timers();
  bool fail(const std::exception_ptr& exception) noexcept;
  SupervisionAction decide(ExitKind kind) noexcept;
  bool restart(const Error& why) noexcept;
  void retire(const ExitReason& reason, const Error& why) noexcept;
  void report(const ExitReason& reason, SupervisionAction action) noexcept;

  const ActorId id_;
  const ActorOptions options_;
  // These are made before they are needed: an actor that fails for want of memory must still
  // answer.
  const Error stopped_{CoreErrc::kStopped, options_.name};
  const Error failed_{CoreErrc::kActorFailed, options_.name};
  const Error not_ready_{CoreErrc::kNotReady, options_.name};
  const std::shared_ptr<ActorEnvironment> environment_;
  Clock& clock_;           // the environment's, at hand for each push
  MessageTap* const tap_;  // the environment's, too
  ActorContext context_;
  ActorMetrics metrics_;
  boost::asio::any_io_executor post_executor_;  // runs no posted function within the call

  std::atomic<Baton> baton_{Baton::kResting};
  std::atomic<bool> stop_requested_{false};
  bool started_ = false;

  // The members below belong to the turn.
  std::vector<std::shared_ptr<ActorTimer::Slot>> timers_;
  std::array<TimePoint, defaults::kMaxRestarts> restarts_{};  // a ring, the oldest is overwritten
  std::size_t restart_count_ = 0;
  Gate::Holder holder_;

  Parker parker_;
  std::thread thread_;
};

}  // namespace weft
