#pragma once

#include <initializer_list>
#include <vector>

namespace weft::cli {

/// Makes Ctrl-C an event instead of the process's end, and other signals if asked to, and can be
/// woken from any thread. One at a time in a process; its destructor restores their handling.
class Interrupts {
 public:
  Interrupts(std::initializer_list<int> others = {});
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  /// A descriptor that is readable after wake() and after Ctrl-C, until clear().
  [[nodiscard]] int descriptor() const noexcept { return wake_; }
  /// Makes descriptor() readable. Thread-safe.
  void wake() const noexcept;
  /// Makes descriptor() unreadable again.
  void clear() const noexcept;
  /// Whether Ctrl-C was pressed since the last call, or another of the signals came.
  [[nodiscard]] static bool take_interrupt() noexcept { return take_signal() != 0; }
  /// The last signal that came since the last call; 0 where none did.
  [[nodiscard]] static int take_signal() noexcept;

 private:
  /// A signal and who handled it before.
  struct Taken {
    int signal;
    void (*before)(int);
  };

  int wake_;
  std::vector<Taken> taken_;
};

}  // namespace weft::cli
