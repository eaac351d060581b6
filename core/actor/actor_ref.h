#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "weft/core/actor/actor_cell.h"
#include "weft/core/ids.h"
#include "weft/core/mailbox/mailbox_word.h"
#include "weft/core/mailbox/message.h"

namespace weft {

/// One sender's path to one actor: messages arrive in the order they were sent, whichever threads
/// sent them. Owner only; an actor makes its senders in its constructor:
/// `out_(next.sender(context.id()))`.
template <class P>
class Sender {
 public:
  Sender(std::shared_ptr<ActorCell<P>> cell, ActorId from)
      : cell_(std::move(cell)), lane_(cell_->make_lane()), from_(from) {}

  /// Moves `message` to the actor, or leaves it as it was: see PushResult.
  template <MessageOf<P> T>
    requires(!std::is_lvalue_reference_v<T>)
  PushResult try_send(T&& message) noexcept {
    return cell_->push(&lane_, std::forward<T>(message), from_);
  }

 private:
  std::shared_ptr<ActorCell<P>> cell_;  // before lane_, which lives in its mailbox
  typename ActorCell<P>::Lane lane_;
  ActorId from_;
};

/// The address of an actor that understands P. Copies are cheap and stay valid after the actor has
/// exited: sending is then `kClosed`. Thread-safe.
template <class P>
class ActorRef {
 public:
  explicit ActorRef(std::shared_ptr<ActorCell<P>> cell) noexcept : cell_(std::move(cell)) {}

  [[nodiscard]] ActorId id() const noexcept { return cell_->id(); }
  [[nodiscard]] const std::string& name() const noexcept { return cell_->options().name; }
  /// How many messages wait.
  [[nodiscard]] std::size_t size() const noexcept { return cell_->size(); }
  /// Whether the actor has exited for good; sending is `kClosed` then.
  [[nodiscard]] bool exited() const noexcept { return cell_->exited(); }

  /// Makes a lane of its own for one sender; it costs memory for a block of messages.
  [[nodiscard]] Sender<P> sender(ActorId from) const { return Sender<P>(cell_, from); }

  /// Sends without a lane, so order is kept per thread only. It is for senders that stay on one
  /// thread, or that send one message.
  template <MessageOf<P> T>
    requires(!std::is_lvalue_reference_v<T>)
  PushResult try_send(T&& message, ActorId from = {}) const noexcept {
    return cell_->push(nullptr, std::forward<T>(message), from);
  }

 private:
  friend class ActorSystem;
  std::shared_ptr<ActorCell<P>> cell_;
};

}  // namespace weft
