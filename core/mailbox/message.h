#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/core/ids.h"
#include "weft/core/time/clock.h"

namespace weft {

/// A type that can travel between actors: a message is moved into a mailbox and out of it, and
/// neither move may fail half-way.
template <class T>
concept Message = std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>> &&
                  std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

/// The messages that an actor understands. By convention their types are named XxxMsg, and each
/// type's comment names its sender, its receiver and the owner of its buffers.
template <Message... Msgs>
  requires(sizeof...(Msgs) > 0)
struct Protocol {
  /// The type that the mailbox stores. Never valueless: every move is noexcept.
  using Any = std::variant<Msgs...>;

  template <class T>
  static constexpr bool kHas = (std::same_as<T, Msgs> || ...);
};

/// A message type of protocol P.
template <class T, class P>
concept MessageOf = P::template kHas<std::remove_cvref_t<T>>;

/// A message on its way, with its sender.
template <Message Msg>
struct Envelope {
  Msg message;
  TimePoint enqueued;  // when try_push took it, on the sender's clock
  ActorId from;        // zero: not an actor
};

}  // namespace weft
