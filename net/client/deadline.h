#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace weft {

/// Calls a function if the deadline still exists when its time is over. The function breaks off the
/// slow operation, for example by closing a socket. Owner only, on the executor's one thread.
class Deadline {
 public:
  Deadline(const boost::asio::any_io_executor& executor, std::chrono::milliseconds limit,
           std::function<void()> break_off);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  [[nodiscard]] bool expired() const noexcept { return state_->expired; }

 private:
  struct State {
    explicit State(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    std::function<void()> break_off{};
    bool expired = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace weft
