#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/actor/actor_core.h"
#include "weft/core/mailbox/mailbox.h"

namespace weft {

/// An actor as its system keeps it: the mailbox, the current instance and the factory of the
/// next one. Senders share ownership, so that a push to an exited actor safely returns
/// `kClosed`.
template <class P>
class ActorCell final : public ActorCore {
  using Any = typename P::Any;

 public:
  using Lane = typename Mailbox<Any>::Producer;
  using Factory = std::function<std::unique_ptr<ActorInstance<P>>(ActorContext&)>;

  ActorCell(ActorId id, ActorOptions options, std::shared_ptr<ActorEnvironment> environment)
      : ActorCore(id, std::move(options), std::move(environment)),
        mailbox_(this->options().capacity, *this) {
    batch_.reserve(this->options().messages_per_activation);
  }

  /// To be called before start().
  void set_factory(Factory factory) { factory_ = std::move(factory); }

  [[nodiscard]] Lane make_lane() { return Lane(mailbox_); }
  [[nodiscard]] std::size_t size() const noexcept { return mailbox_.size(); }

  /// Pushes through `lane`, or without one when it is null.
  template <MessageOf<P> T>
  PushResult push(Lane* lane, T&& message, ActorId from) noexcept {
    if (tap() != nullptr) [[unlikely]]
      return push_tapped(std::forward<T>(message), from);
    return push_now(lane, std::forward<T>(message), from);
  }

 private:
  template <class T>
  class Captured;

  template <class T>
  PushResult push_now(Lane* lane, T&& message, ActorId from) noexcept {
    const TimePoint now = clock().now();
    const PushResult result = lane != nullptr
                                  ? mailbox_.try_push(*lane, std::forward<T>(message), now, from)
                                  : mailbox_.try_push(std::forward<T>(message), now, from);
    if (result == PushResult::kFull) metrics().refused.add();
    return result;
  }

  template <class T>
  PushResult push_tapped(T&& message, ActorId from) noexcept {
    if (mailbox_.closed()) return PushResult::kClosed;
    const PushResult result = tap()->admit(id(), options().capacity);
    if (!taken(result)) return result;
    auto self = std::static_pointer_cast<ActorCell>(shared_from_this());
    tap()->capture(std::make_unique<Captured<T>>(std::move(self), from, std::forward<T>(message)));
    return result;
  }

  bool try_sleep() noexcept override { return next_ == batch_.size() && mailbox_.try_sleep(); }
  void sleep_anyway() noexcept override { mailbox_.sleep_anyway(); }
  bool take_signal() noexcept override { return mailbox_.take_signal(); }
  void signal() noexcept override { mailbox_.signal(); }
  bool busy() const noexcept override { return next_ != batch_.size() || mailbox_.has_work(); }

  void create(const Error& why) override {
    auto successor = factory_(context());
    destroy(why);
    instance_ = std::move(successor);
  }

  void destroy(const Error& why) noexcept override {
    if (!instance_) return;
    try {
      instance_->exiting(why);
    } catch (...) {  // the instance ends in any case
    }
    instance_.reset();
  }

  void handle_batch() override {
    if (next_ == batch_.size() && !take_batch()) return;
    while (next_ < batch_.size()) {
      in_hand_.emplace(std::move(batch_[next_++]));
      instance_->on(in_hand_->message);
      in_hand_.reset();  // members that the actor did not take end here, not with the batch
    }
  }

  bool message_in_hand() const noexcept override { return in_hand_.has_value(); }

  bool take_batch() {
    batch_.clear();
    next_ = 0;
    const std::size_t count = mailbox_.take(batch_, batch_.capacity());
    if (count == 0) return false;
    const std::chrono::duration<double> waited = clock().now() - batch_.front().enqueued;
    metrics().wait.observe(waited.count());
    metrics().messages.add(count);
    metrics().activations.add();
    metrics().depth.set(static_cast<double>(mailbox_.waiting()));
    return true;
  }

  void answer_in_hand(const Error& why) noexcept override {
    if (!in_hand_) return;
    answer(*in_hand_, why);
    in_hand_.reset();
  }

  // Messages pushed while this runs wait for the next instance; otherwise a busy actor would never
  // get to create one.
  void answer_waiting(const Error& why) noexcept override {
    answer_batch(why);
    for (std::size_t left = mailbox_.waiting(); left > 0;) {
      batch_.clear();
      next_ = 0;
      const std::size_t count = mailbox_.take(batch_, left);
      if (count == 0) return;  // the rest is still being pushed
      left -= count;
      answer_batch(why);
    }
  }

  void close_and_answer(const Error& why) noexcept override {
    answer_in_hand(why);
    answer_batch(why);
    mailbox_.close([&](Envelope<Any>&& envelope) noexcept { answer(envelope, why); });
    // No other instance will be made. Arguments kept in the factory may hold addresses of actors
    // that hold this actor's address.
    factory_ = nullptr;
  }

  void answer_batch(const Error& why) noexcept {
    while (next_ < batch_.size()) answer(batch_[next_++], why);
  }

  void answer(Envelope<Any>& envelope, const Error& why) noexcept {
    if (!instance_) return;  // never started: no instance can answer
    try {
      instance_->undelivered(envelope.message, why);
    } catch (...) {  // the next message has the same right to an answer
    }
  }

  Factory factory_;
  std::unique_ptr<ActorInstance<P>> instance_;
  std::vector<Envelope<Any>> batch_;  // taken from the mailbox; from next_ on not handled yet
  std::size_t next_ = 0;
  std::optional<Envelope<Any>> in_hand_;  // the message given to on() while on() has not returned
  Mailbox<Any> mailbox_;
};

template <class P>
template <class T>
class ActorCell<P>::Captured final : public CapturedMessage {
 public:
  Captured(std::shared_ptr<ActorCell> cell, ActorId from, T&& message) noexcept
      : CapturedMessage(from, cell->id(), typeid(T)),
        cell_(std::move(cell)),
        message_(std::move(message)) {}

  [[nodiscard]] const void* message() const noexcept override { return &message_; }
  PushResult deliver() noexcept override {
    return cell_->push_now(nullptr, std::move(message_), from());
  }

 private:
  std::shared_ptr<ActorCell> cell_;
  T message_;
};

}  // namespace weft
