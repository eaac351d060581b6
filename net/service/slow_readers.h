#pragma once

#include "weft/core/metrics.h"

namespace weft {

/// Counts the connections that the server ended because their clients did not read, for each limit.
/// Thread-safe.
class SlowReaders {
 public:
  explicit SlowReaders(MetricsRegistry& metrics)
      : took_nothing_(counter(metrics, "write_timeout")),
        left_too_much_(counter(metrics, "max_unread_bytes")) {}

  /// Counts a client that took no byte for write_timeout.
  void count_one_that_took_nothing() noexcept { took_nothing_.add(); }
  /// Counts a client that left more than max_unread_bytes unread.
  void count_one_that_left_too_much() noexcept { left_too_much_.add(); }

 private:
  static Counter& counter(MetricsRegistry& metrics, const char* limit) {
    return metrics.counter("weft_slow_readers_total",
                           "Connections that were ended because their clients did not read",
                           {{"limit", limit}});
  }

  Counter& took_nothing_;
  Counter& left_too_much_;
};

}  // namespace weft
