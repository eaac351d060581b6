#include "weft/core/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace weft {
namespace {

[[noreturn]] void refuse(std::string_view metric, std::string_view reason) {
  throw std::invalid_argument("metric \"" + std::string(metric) + "\": " + std::string(reason));
}

// Written by hand, because <cctype> follows the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void check_name(std::string_view name) {
  const auto may_start = [](char c) { return is_letter(c) || c == ':'; };
  const auto may_follow = [&](char c) { return may_start(c) || is_digit(c); };
  if (name.empty() || !may_start(name.front()) || !std::ranges::all_of(name, may_follow)) {
    refuse(name, "the name does not match [a-zA-Z_:][a-zA-Z0-9_:]*");
  }
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (name.ends_with(suffix)) refuse(name, "the suffix belongs to the samples of a histogram");
  }
}

void check_label(std::string_view metric, const std::string& label) {
  const auto may_follow = [](char c) { return is_letter(c) || is_digit(c); };
  if (label.empty() || !is_letter(label.front()) || !std::ranges::all_of(label, may_follow)) {
    refuse(metric, "label \"" + label + "\" does not match [a-zA-Z_][a-zA-Z0-9_]*");
  }
  if (label == "le" || label.starts_with("__")) {
    refuse(metric, "label \"" + label + "\" is reserved");
  }
}

void sort_and_check(std::string_view metric, Labels& labels) {
  for (const auto& [label, value] : labels) check_label(metric, label);
  std::ranges::sort(labels);
  const auto twice = std::ranges::adjacent_find(labels, {}, &Labels::value_type::first);
  if (twice != labels.end()) refuse(metric, "label \"" + twice->first + "\" is given twice");
}

void check_bounds(std::string_view metric, std::span<const double> bounds) {
  if (bounds.empty()) refuse(metric, "there are no bounds");
  if (!std::ranges::all_of(bounds, [](double bound) { return std::isfinite(bound); })) {
    refuse(metric, "a bound is not finite; the bucket for +Inf is implied");
  }
  if (std::ranges::adjacent_find(bounds, std::ranges::greater_equal()) != bounds.end()) {
    refuse(metric, "the bounds are not strictly ascending");
  }
}

bool fits(const Histogram& histogram, std::span<const double> bounds) {
  return std::ranges::equal(histogram.bounds(), bounds);
}
bool fits(const Counter&) { return true; }
bool fits(const Gauge&) { return true; }

}  // namespace

// There is one bucket more than there are bounds: the last bucket counts values above all bounds.
Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()),
      lines_(std::make_unique<Line[]>(bounds.size() / kSlots + 1)) {}

void Histogram::observe(double value, std::uint64_t count) noexcept {
  if (!std::isfinite(value)) return;
  const auto bound = std::ranges::lower_bound(bounds_, value);
  bucket(static_cast<std::size_t>(bound - bounds_.begin()))
      .fetch_add(count, std::memory_order_relaxed);
  sum_.fetch_add(value * static_cast<double>(count), std::memory_order_relaxed);
}

HistogramValue Histogram::value() const {
  HistogramValue result;
  result.buckets.reserve(bounds_.size() + 1);
  for (std::size_t i = 0; i <= bounds_.size(); ++i) {
    result.buckets.push_back(bucket(i).load(std::memory_order_relaxed));
    result.count += result.buckets.back();
  }
  result.sum = sum_.load(std::memory_order_relaxed);
  return result;
}

Counter& MetricsRegistry::counter(std::string_view name, std::string_view help, Labels labels) {
  if (!name.ends_with("_total")) refuse(name, "the name of a counter ends in _total");
  return find_or_add<Counter>(name, help, std::move(labels));
}

Gauge& MetricsRegistry::gauge(std::string_view name, std::string_view help, Labels labels) {
  return find_or_add<Gauge>(name, help, std::move(labels));
}

Histogram& MetricsRegistry::histogram(std::string_view name, std::string_view help,
                                      std::span<const double> bounds, Labels labels) {
  check_bounds(name, bounds);
  return find_or_add<Histogram>(name, help, std::move(labels), bounds);
}

// `shape` is the argument that all series of a family share besides the help text: a histogram's
// bounds.
template <class Metric, class... Shape>
Metric& MetricsRegistry::find_or_add(std::string_view name, std::string_view help, Labels labels,
                                     const Shape&... shape) {
  check_name(name);
  sort_and_check(name, labels);

  const std::lock_guard lock(mutex_);
  auto found = families_.find(name);
  if (found == families_.end()) {
    found = families_.emplace(name, MetricFamily{std::string(help), SeriesMap<Metric>()}).first;
  }
  MetricFamily& family = found->second;
  auto* const series = std::get_if<SeriesMap<Metric>>(&family.series);
  if (series == nullptr) refuse(name, "it is registered as another type");
  if (family.help != help) refuse(name, "it is registered with another help");
  if (!series->empty() && !fits(series->begin()->second, shape...)) {
    refuse(name, "it is registered with other bounds");
  }
  return series->try_emplace(std::move(labels), shape...).first->second;
}

}  // namespace weft
