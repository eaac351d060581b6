#pragma once

#include <initializer_list>
#include <vector>

namespace weft::cli {

/// Makes signals events of the process's Interrupts, if it has one; signals that are ignored, as by
/// nohup, stay ignored, except Ctrl-C. Its destructor restores their handling.
class TakenSignals {
 public:
  TakenSignals(std::initializer_list<int> signals);
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;
  ~TakenSignals();

 private:
  /// A signal and its earlier handler.
  struct Taken {
    int signal;
    void (*before)(int);
  };

  std::vector<Taken> taken_;
};

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
  /// Whether Ctrl-C was pressed, or another of the signals came, since the last call.
  [[nodiscard]] static bool take_interrupt() noexcept { return take_signal() != 0; }
  /// Returns the last signal since the last call; 0: none. Any other signal comes before Ctrl-C.
  [[nodiscard]] static int take_signal() noexcept;

 private:
  int wake_;
  TakenSignals interrupt_;  // declared after the descriptor, which the handler writes to
  TakenSignals others_;
};

}  // namespace weft::cli
