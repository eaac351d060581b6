#pragma once

namespace weft::cli {

/// Makes Ctrl-C an event instead of the process's end, and can be woken from any thread. One at a
/// time in a process; its destructor restores SIGINT's handling.
class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  /// A descriptor that is readable after wake() and after Ctrl-C, until clear().
  [[nodiscard]] int descriptor() const noexcept { return wake_; }
  /// Makes descriptor() readable. Thread-safe.
  void wake() const noexcept;
  /// Makes descriptor() unreadable again.
  void clear() const noexcept;
  /// Whether Ctrl-C was pressed since the last call.
  [[nodiscard]] static bool take_interrupt() noexcept;

 private:
  int wake_;
  void (*before_)(int);
};

}  // namespace weft::cli
