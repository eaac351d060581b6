#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "weft/core/actor/actor_context.h"
#include "weft/core/actor/supervision.h"
#include "weft/core/defaults.h"
#include "weft/core/error/error.h"
#include "weft/core/mailbox/message.h"
#include "weft/core/time/clock.h"

namespace weft {

/// Options of an actor's own thread, for work that must not wait behind others.
struct DedicatedThread {
  Duration spin =
      defaults::kSpinBeforePark;  ///< How long the thread looks for work before it parks; may be 0.
  std::optional<int> cpu = {};    ///< The processor that the thread is pinned to; none: any.
  /// Whether the thread has a low priority, so that other threads get a scarce processor first
  /// (background.h).
  bool goes_last = false;
};

struct ActorOptions {
  std::string name = {};                ///< For metrics, logs and the thread's name.
  ActorRole role = ActorRole::kCustom;  ///< Which rows of the supervision table apply.
  std::size_t capacity = defaults::kMailboxCapacity;
  std::size_t messages_per_activation = defaults::kMessagesPerActivation;
  std::optional<DedicatedThread> thread = {};  ///< Without: event-driven, on the system's executor.
};

namespace detail {

template <class B, class M>
concept Handles = requires(B& behavior, M&& message, const Error& why) {
  behavior.on(std::move(message));
  behavior.undelivered(std::move(message), why);
};

template <class B, class P>
inline constexpr bool kHandlesAll = false;
template <class B, class... Msgs>
inline constexpr bool kHandlesAll<B, Protocol<Msgs...>> = (Handles<B, Msgs> && ...);

}  // namespace detail

/// An actor is a class that names the messages that it accepts, and for each of them has an on()
/// and an undelivered():
///
/// @code
/// struct Echo {
///   using Accepts = weft::Protocol<PingMsg>;
///   explicit Echo(weft::ActorContext& context);
///   void on(PingMsg&& message);
///   void undelivered(PingMsg&& message, const weft::Error& why);
///   void exiting(const weft::Error& why);  // may be left out
/// };
/// @endcode
///
/// The constructor takes the context, then what spawn() was given; a restart calls it again with
/// the same arguments. (tests/must_not_compile/core_misuse.cc compiles this example.)
///
/// These calls run one at a time, and each sees what the call before did; on a dedicated thread the
/// constructor and destructor run there too. An exception out of on() ends the instance
/// (supervision.h); the same message object then goes to undelivered(), so what on() moved out of
/// it is dealt with. undelivered() answers a message that on() will never see. exiting() is the
/// last call on an instance: it answers the requests that the instance holds. Exceptions out of
/// undelivered() and exiting() are swallowed. A successor is constructed before its predecessor is
/// told to exit; if that fails, the predecessor answers the waiting messages.
template <class B>
concept ActorBehavior =
    requires { typename B::Accepts; } && detail::kHandlesAll<B, typename B::Accepts>;

/// A running instance of some actor that understands P, as the runtime sees it.
template <class P>
class ActorInstance {
 public:
  ActorInstance() = default;
  ActorInstance(const ActorInstance&) = delete;
  ActorInstance& operator=(const ActorInstance&) = delete;
  virtual ~ActorInstance() = default;

  virtual void on(typename P::Any& message) = 0;
  virtual void undelivered(typename P::Any& message, const Error& why) = 0;
  virtual void exiting(const Error& why) = 0;
};

template <ActorBehavior B>
class ActorInstanceOf final : public ActorInstance<typename B::Accepts> {
  using Any = typename B::Accepts::Any;

 public:
  template <class... Args>
  explicit ActorInstanceOf(ActorContext& context, const Args&... args)
      : behavior_(context, args...) {}

  void on(Any& message) override {
    std::visit([this](auto& one) { behavior_.on(std::move(one)); }, message);
  }
  void undelivered(Any& message, const Error& why) override {
    std::visit([&](auto& one) { behavior_.undelivered(std::move(one), why); }, message);
  }
  void exiting(const Error& why) override {
    if constexpr (requires { behavior_.exiting(why); }) behavior_.exiting(why);
  }

 private:
  B behavior_;
};

}  // namespace weft
