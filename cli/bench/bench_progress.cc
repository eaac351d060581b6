#include "weft/cli/bench/bench_progress.h"

#include <cstdint>

namespace weft::cli {

void BenchProgress::begin(const std::string& part) {
  look_for_interrupt();
  bar_.reset();  // removes the old line before the new one is drawn
  bar_.emplace(part, count_line);
}

void BenchProgress::show(std::size_t done, std::size_t of) {
  look_for_interrupt();
  if (bar_) bar_->show(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of));
}

measure::EngineRunOptions BenchProgress::options() {
  measure::EngineRunOptions options;
  options.progress = [this](std::size_t done, std::size_t of) { show(done, of); };
  options.stop = &stop_;
  return options;
}

void BenchProgress::look_for_interrupt() {
  if (Interrupts::take_interrupt()) stop_.store(true, std::memory_order_relaxed);
}

}  // namespace weft::cli
