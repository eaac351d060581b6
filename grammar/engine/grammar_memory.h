#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "weft/core/metrics.h"

namespace weft::grammar {

/// Counts the bytes of a model's compiled grammars, with their states and masks, and knows their
/// limit. Grammars report the memory that they take. Nothing is refused here, because GrammarStore
/// makes room. Thread-safe, without locks.
class GrammarMemory {
 public:
  /// `gauge` shows the bytes held; null: they are not shown.
  explicit GrammarMemory(std::size_t limit, std::shared_ptr<Gauge> gauge = nullptr)
      : limit_(limit), gauge_(std::move(gauge)) {}

  void add(std::size_t bytes) noexcept {
    held_.fetch_add(bytes, std::memory_order_relaxed);
    if (gauge_ != nullptr) gauge_->add(static_cast<double>(bytes));
  }
  void remove(std::size_t bytes) noexcept {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    if (gauge_ != nullptr) gauge_->sub(static_cast<double>(bytes));
  }

  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_full() const noexcept { return held() > limit_; }

 private:
  const std::size_t limit_;
  const std::shared_ptr<Gauge> gauge_;
  std::atomic<std::size_t> held_{0};
};

}  // namespace weft::grammar
