#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_cell.h"
#include "weft/core/actor/actor_core.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/actor/supervision.h"
#include "weft/core/gate.h"
#include "weft/core/ids.h"

namespace weft {

struct ActorSystemOptions {
  std::shared_ptr<Clock> clock{};              ///< Without: a SteadyClock.
  std::shared_ptr<MetricsRegistry> metrics{};  ///< Without: a registry of its own.
  std::vector<SupervisionRule> supervision{default_supervision().begin(),
                                           default_supervision().end()};
  /// Called at the end of each instance, on the actor's thread; must be thread-safe.
  std::function<void(const ExitReport&)> on_exit{};
  MessageTap* tap = nullptr;  ///< For tests; must outlive the system.
};

/// Actors that start, fail and stop together. Event-driven actors run on the caller's executor,
/// whose context must run for them to do anything and must outlive the system. No global state, no
/// signal handlers, no printing. Thread-safe.
class ActorSystem {
 public:
  /// Starts nothing by itself. Event-driven actors run on `executor`.
  explicit ActorSystem(boost::asio::any_io_executor executor, ActorSystemOptions options = {});
  ActorSystem(const ActorSystem&) = delete;
  ActorSystem& operator=(const ActorSystem&) = delete;
  /// Stops the remaining actors, on this thread: waits for turns under way, takes over turns that
  /// have not begun, joins dedicated threads. It needs no running executor. Must not be called from
  /// within an actor.
  ~ActorSystem();

  /// Makes an actor's address before the actor exists, for actors that must know each other. Throws
  /// std::invalid_argument when the options hold a zero where none is allowed. Messages wait for
  /// start(); without a start() no actor answers them.
  template <class P>
  [[nodiscard]] ActorRef<P> declare(ActorOptions options) {
    auto cell = std::make_shared<ActorCell<P>>(ids_.next(), std::move(options), environment_);
    adopt(cell);
    return ActorRef<P>(std::move(cell));
  }

  /// Starts a declared actor as a `B(context, args...)`; the arguments are kept, for restarts. To
  /// be called once for each actor. Throws what B's constructor throws, or
  /// boost::system::system_error: the system is stopping, or the dedicated thread or its processor
  /// is not available.
  template <ActorBehavior B, class... Args>
    requires std::constructible_from<B, ActorContext&, const Args&...>
  void start(const ActorRef<typename B::Accepts>& ref, Args... args) {
    ref.cell_->set_factory([... args = std::move(args)](ActorContext& context)
                               -> std::unique_ptr<ActorInstance<typename B::Accepts>> {
      return std::make_unique<ActorInstanceOf<B>>(context, args...);
    });
    start_core(*ref.cell_);
  }

  /// Declares and starts an actor.
  template <ActorBehavior B, class... Args>
    requires std::constructible_from<B, ActorContext&, const Args&...>
  ActorRef<typename B::Accepts> spawn(ActorOptions options, Args... args) {
    auto ref = declare<typename B::Accepts>(std::move(options));
    start<B>(ref, std::move(args)...);
    return ref;
  }

  /// Asks every actor to exit; what waits in their mailboxes is answered with `stopped`. No actor
  /// can be started any more.
  void request_stop() noexcept;

  /// Asks every actor to exit, and completes when all have. Signature void(). Needs the executor's
  /// context to run.
  template <boost::asio::completion_token_for<void()> Token>
  auto async_stop(Token&& token) {
    request_stop();
    return running_.async_close(environment_->executor, std::forward<Token>(token));
  }

  /// Returns false once an actor has failed for good.
  [[nodiscard]] bool ready() const noexcept;
  /// How many actors run.
  [[nodiscard]] std::size_t running() const noexcept { return running_.holders(); }
  /// The executor, clock and registry that its actors use; valid as long as the system.
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept;
  [[nodiscard]] Clock& clock() const noexcept { return *environment_->clock; }
  [[nodiscard]] MetricsRegistry& metrics() const noexcept { return *environment_->metrics; }

 private:
  void adopt(std::shared_ptr<ActorCore> core);
  void start_core(ActorCore& core);

  const std::shared_ptr<ActorEnvironment> environment_;
  IdSource<ActorKind> ids_;
  Gate running_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<ActorCore>> cores_;  // under mutex_
};

}  // namespace weft
