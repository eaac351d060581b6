#pragma once

#include <cstddef>
#include <memory>
#include <typeindex>

#include "weft/core/error/error.h"
#include "weft/core/ids.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

/// A message that a tap holds between its sender and its mailbox.
class CapturedMessage {
 public:
  CapturedMessage(ActorId from, ActorId to, std::type_index type) noexcept
      : from_(from), to_(to), type_(type) {}
  CapturedMessage(const CapturedMessage&) = delete;
  CapturedMessage& operator=(const CapturedMessage&) = delete;
  virtual ~CapturedMessage() = default;

  /// Its sender (zero: not an actor), its receiver, and the type of the message.
  [[nodiscard]] ActorId from() const noexcept { return from_; }
  [[nodiscard]] ActorId to() const noexcept { return to_; }
  [[nodiscard]] std::type_index type() const noexcept { return type_; }
  /// The message, of type().
  [[nodiscard]] virtual const void* message() const noexcept = 0;
  /// Pushes the message into the mailbox, as its sender would have; to be called once. A refused
  /// message stays in this object.
  virtual PushResult deliver() noexcept = 0;

 private:
  ActorId from_;
  ActorId to_;
  std::type_index type_;
};

/// Sees each message before it reaches a mailbox, and decides when and whether it gets there. It is
/// for tests that play every interleaving; a system has none unless ActorSystemOptions name one.
/// Any sender may call it.
class MessageTap {
 public:
  MessageTap() = default;
  MessageTap(const MessageTap&) = delete;
  MessageTap& operator=(const MessageTap&) = delete;
  virtual ~MessageTap() = default;

  /// Returns what a push to `to` shall return; when that is kOk or kWoke, capture() is called with
  /// the message.
  virtual PushResult admit(ActorId to, std::size_t capacity) noexcept = 0;
  /// Takes a message that admit() has let in, to deliver or to drop it.
  virtual void capture(std::unique_ptr<CapturedMessage> message) noexcept = 0;
};

}  // namespace weft
