#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// The part that an actor plays in the pipeline; it decides what the actor's failure means.
enum class ActorRole {
  kReceiver,
  kPreprocess,
  kScheduler,
  kExecutor,
  kDetokenizer,
  kCustom,  ///< An actor of the application that embeds Weft.
};
inline constexpr std::array kActorRoles = {ActorRole::kReceiver,    ActorRole::kPreprocess,
                                           ActorRole::kScheduler,   ActorRole::kExecutor,
                                           ActorRole::kDetokenizer, ActorRole::kCustom};

/// Why an instance of an actor ended.
enum class ExitKind {
  kStopped,        ///< The system stops. Not a failure; no rule is asked.
  kException,      ///< Some exception left on(Msg).
  kOutOfMemory,    ///< std::bad_alloc left on(Msg).
  kInternalError,  ///< InternalError: a broken invariant, so the actor's state is not to be
                   ///< trusted.
  kDeviceLost,  ///< ActorFailure with this kind: the whole process has lost the device's context.
};
inline constexpr std::array kFailureKinds = {ExitKind::kException, ExitKind::kOutOfMemory,
                                             ExitKind::kInternalError, ExitKind::kDeviceLost};

/// The reaction to a failure. The message in hand is answered with `actor_failed` in each case.
enum class SupervisionAction {
  /// A new instance takes over and handles the messages that wait.
  kRestart,
  /// The actor's state is lost: the messages that wait are answered with `actor_failed` too, then
  /// a new instance starts empty. The old instance's exiting() answers the requests that it
  /// holds.
  kFailRequests,
  /// The actor exits for good, every message is answered with `not_ready`, and the system is no
  /// longer ready.
  kNotReady,
};

/// Their names in logs, such as "scheduler", "exception" and "restart".
[[nodiscard]] std::string_view to_string(ActorRole role) noexcept;
[[nodiscard]] std::string_view to_string(ExitKind kind) noexcept;
[[nodiscard]] std::string_view to_string(SupervisionAction action) noexcept;

/// One row of the supervision table.
struct SupervisionRule {
  ActorRole role;
  ExitKind exit;
  SupervisionAction action;
  std::string_view why;
};

/// One row for each role and failure kind. core/README.md shows the same table.
using SupervisionTable = std::array<SupervisionRule, kActorRoles.size() * kFailureKinds.size()>;
/// The table that a system uses unless its options have another.
[[nodiscard]] const SupervisionTable& default_supervision() noexcept;

/// Returns the action of the row for `role` and `exit`; kNotReady when the table has none.
[[nodiscard]] SupervisionAction find_action(std::span<const SupervisionRule> table, ActorRole role,
                                            ExitKind exit) noexcept;

/// Thrown by an actor that knows what its failure means.
class ActorFailure : public std::runtime_error {
 public:
  /// `what` is for people; `kind` decides which rule of the table applies.
  ActorFailure(ExitKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] ExitKind kind() const noexcept { return kind_; }

 private:
  ExitKind kind_;
};

/// Why an instance ended, with the exception's text.
struct ExitReason {
  ExitKind kind = ExitKind::kStopped;
  std::string what{};
};

/// Classifies the exception. The text is left out when there is no memory for it.
[[nodiscard]] ExitReason exit_reason(const std::exception_ptr& exception) noexcept;

}  // namespace weft
