#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/mailbox/cache_line.h"

namespace weft {

/// Upper bounds in seconds for times that a client notices, such as time to first token and
/// end-to-end time. They begin at 1 ms, because the network dominates below it, and end at 100 s,
/// when a client has given up. Steps of 1-2-5 keep an interpolated quantile within a factor of 2.5
/// and put a bound on the usual targets: 200 ms, 500 ms, 1 s.
inline constexpr std::array kLatencyBounds{1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,
                                           0.5,  1.0,  2.0,  5.0,  10.0, 20.0, 50.0, 100.0};

/// Upper bounds in seconds for times inside a tick, such as waiting in a mailbox, planning, or a
/// step. They begin at 1 us, the time in a mailbox whose receiver is idle, and end at 10 s, a long
/// prefill of a big model on the host device. The steps are 1-2-5 again.
inline constexpr std::array kTickBounds{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                        5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,
                                        0.2,  0.5,  1.0,  2.0,  5.0,  10.0};

// The metrics are thread-safe. An update is one or two relaxed atomic operations, without a lock;
// it orders nothing, not even the updates of two metrics.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<double>::is_always_lock_free);

/// A count that only grows.
class alignas(kCacheLineBytes) Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// A level that goes up and down. A double, as Prometheus' samples are: shares of a whole need
/// fractions, and counts are exact up to 2^53.
class alignas(kCacheLineBytes) Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(double n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void sub(double n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }

  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// One reading of a histogram.
struct HistogramValue {
  /// One for each bound, not cumulative, and a last one for values above all bounds.
  std::vector<std::uint64_t> buckets{};
  /// The total of `buckets`, even while observers run.
  std::uint64_t count = 0;
  /// The sum of the values; while observers run it may be ahead of `count` or behind it.
  double sum = 0;
};

/// How often values fell into each of some fixed ranges.
class alignas(kCacheLineBytes) Histogram {
 public:
  /// \param bounds finite and ascending; the registry checks that.
  explicit Histogram(std::span<const double> bounds);

  /// Counts `value` `count` times in the bucket of the first bound that is not below it. A value
  /// that is not finite is dropped: it would spoil the sum for ever.
  void observe(double value, std::uint64_t count = 1) noexcept;

  /// Reads all buckets; observers may run meanwhile.
  [[nodiscard]] HistogramValue value() const;
  [[nodiscard]] std::span<const double> bounds() const noexcept { return bounds_; }

 private:
  static constexpr std::size_t kSlots = kCacheLineBytes / sizeof(std::atomic<std::uint64_t>);
  struct alignas(kCacheLineBytes) Line {
    std::array<std::atomic<std::uint64_t>, kSlots> slots{};
  };

  [[nodiscard]] std::atomic<std::uint64_t>& bucket(std::size_t index) const noexcept {
    return lines_[index / kSlots].slots[index % kSlots];
  }

  const std::vector<double> bounds_;
  const std::unique_ptr<Line[]> lines_;
  // On a cache line apart from the members that are only read.
  alignas(kCacheLineBytes) std::atomic<double> sum_{0};
};

/// Label names and values; the values are UTF-8, which is not checked. The registry sorts them by
/// name.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// The series of one family, ordered by their labels.
template <class Metric>
using SeriesMap = std::map<Labels, Metric>;

/// All series of one name.
struct MetricFamily {
  std::string help;
  std::variant<SeriesMap<Counter>, SeriesMap<Gauge>, SeriesMap<Histogram>> series;
};

/// Owns the metrics of one engine. Thread-safe, by a mutex: register at start-up and keep the
/// references, which are valid as long as the registry.
///
/// Asking again for the same name and labels gives the same object. Every registration throws
/// std::invalid_argument, with the name and the reason in its message, when
/// - the name is registered with another type, help or bounds;
/// - the name does not match [a-zA-Z_:][a-zA-Z0-9_:]*, or ends in _bucket, _sum or _count, which
///   Prometheus gives to the samples of a histogram;
/// - the name of a label does not match [a-zA-Z_][a-zA-Z0-9_]*, occurs twice, is "le", or begins
///   with "__".
class MetricsRegistry {
 public:
  /// Throws also when `name` does not end in "_total".
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});

  /// Throws as every registration does.
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});

  /// Throws also when `bounds` is empty, not finite or not strictly ascending. The bounds are
  /// copied.
  Histogram& histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                       Labels labels = {});

  /// Calls `visit(const std::string& name, const MetricFamily&)` for each family, ordered by name.
  /// The lock is held meanwhile: `visit` must not call this registry.
  template <class Visit>
  void for_each_family(Visit&& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, family] : families_) visit(name, family);
  }

 private:
  template <class Metric, class... Shape>
  Metric& find_or_add(std::string_view name, std::string_view help, Labels labels,
                      const Shape&... shape);

  mutable std::mutex mutex_;
  std::map<std::string, MetricFamily, std::less<>> families_;
};

}  // namespace weft
