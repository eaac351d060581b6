#pragma once

namespace weft::cli {

/// Ctrl-C as an event instead of the process's end, and a way to be woken from any thread. One at a
/// time in a process; SIGINT is as before when it is destroyed.
class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  /// Readable after wake() and after Ctrl-C, until clear().
  [[nodiscard]] int descriptor() const noexcept { return wake_; }
  /// Thread-safe.
  void wake() const noexcept;
  /// Makes descriptor() wait again.
  void clear() const noexcept;
  /// Whether Ctrl-C was pressed since the last call.
  [[nodiscard]] static bool take_interrupt() noexcept;

 private:
  int wake_;
  void (*before_)(int);
};

}  // namespace weft::cli
