#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/measure/engine/engine_load.h"

namespace weft::cli {

/// Shows on a terminal the measured part and its progress, and lets Ctrl-C end it. Where no engine
/// runs that could be ended, Ctrl-C takes effect at the next part. Owner only; one at a time.
class BenchProgress {
 public:
  /// Begins the next part, whose line replaces the old one's.
  void begin(const std::string& part);
  void show(std::size_t done, std::size_t of);
  /// Removes the line from the terminal.
  void end() { bar_.reset(); }

  /// Options for run_engine(), valid as long as this object lives.
  [[nodiscard]] measure::EngineRunOptions options();
  [[nodiscard]] const std::atomic<bool>& stop() const noexcept { return stop_; }
  [[nodiscard]] bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }

 private:
  void look_for_interrupt();

  Interrupts interrupts_;
  std::atomic<bool> stop_{false};
  std::optional<ProgressBar> bar_;
};

}  // namespace weft::cli
