#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {

/// Shutdown as a type: work in flight holds the gate, a closed gate admits no more work, and the
/// closing caller learns when the last holder has left. Thread-safe. Destroying a gate that is
/// still held is a bug (internal_error); holders then stay valid, since they share its state.
class Gate {
 private:
  class State;

 public:
  class Holder;

  Gate() : state_(std::make_shared<State>()) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  /// Enters; the holder is empty when the gate is closed.
  [[nodiscard]] Holder try_enter() noexcept;

  /// Closes the gate: try_enter() returns an empty holder from now on.
  void close() noexcept;

  /// Whether the gate is closed.
  [[nodiscard]] bool closed() const noexcept;
  /// Returns the number of holders; exact only when the gate is closed.
  [[nodiscard]] std::size_t holders() const noexcept;

  /// Closes the gate, and completes when no holder is left, never within the call. May be called
  /// several times. The completion signature is void(), on the handler's associated executor.
  template <boost::asio::completion_token_for<void()> Token>
  auto async_close(boost::asio::any_io_executor executor, Token&& token) {
    return boost::asio::async_initiate<Token, void()>(
        [this](auto handler, const boost::asio::any_io_executor& fallback) {
          auto work = boost::asio::make_work_guard(handler, fallback);
          auto posted = work.get_executor();
          // It is a shared_ptr because a std::function must be copyable and a handler need not be.
          auto held = std::make_shared<decltype(handler)>(std::move(handler));
          on_empty([held, posted, work = std::move(work)]() mutable {
            boost::asio::post(posted, [held, work = std::move(work)] { std::move (*held)(); });
          });
        },
        token, std::move(executor));
  }

  /// Closes the gate, and calls `empty` once when no holder is left: from within this call, or on
  /// the thread that leaves last.
  void on_empty(std::function<void()> empty);

 private:
  std::shared_ptr<State> state_;
};

class Gate::State {
 public:
  bool enter() noexcept;
  void leave() noexcept;
  void close() noexcept;
  void on_empty(std::function<void()> empty);
  [[nodiscard]] std::uint64_t word() const noexcept {
    return word_.load(std::memory_order_acquire);
  }

  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;

 private:
  void call_waiting();

  std::atomic<std::uint64_t> word_{0};  // kClosed | holders
  std::mutex mutex_;                    // taken only to close, and by the last holder to leave
  std::vector<std::function<void()>> waiting_;
};

/// Holds the gate; its destructor leaves it.
class Gate::Holder {
 public:
  Holder() noexcept = default;
  Holder(Holder&& other) noexcept : state_(std::move(other.state_)) { other.state_.reset(); }
  Holder& operator=(Holder&& other) noexcept {
    if (this != &other) {
      leave();
      state_ = std::move(other.state_);
      other.state_.reset();
    }
    return *this;
  }
  ~Holder() { leave(); }

  /// Leaves the gate now; the holder is empty then. The last holder to leave runs the callback.
  void leave() noexcept {
    if (const auto state = std::exchange(state_, nullptr)) state->leave();
  }
  /// Whether this holder holds the gate.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class Gate;
  explicit Holder(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace weft
