#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <functional>

namespace weft::cuda_host {

/// A stack of its own on which one function after the other runs until it waits. AddressSanitizer
/// is told of each switch. Owner only; a fiber lives as long as the process, because functions that
/// are never resumed may lie on it.
class Fiber {
 public:
  explicit Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Has `run` run by the next resume(). The function before it has returned.
  void start(std::function<void()> run) { run_ = std::move(run); }

  /// Runs the function until it calls suspend() or returns.
  void resume();

  /// Called by the function: goes back to the one that called resume().
  void suspend();

 private:
  [[noreturn]] void loop();

  boost::context::stack_context stack_;
  boost::context::fiber inside_;
  boost::context::fiber outside_;
  std::function<void()> run_;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace weft::cuda_host
