#pragma once

#include <string>
#include <string_view>

#include "weft/core/metrics.h"

namespace weft {

/// The Content-Type of the text that prometheus_text() returns.
inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

/// Writes all metrics of `registry` in Prometheus' text exposition format 0.0.4. The order does not
/// depend on the order of registration; an empty registry gives an empty string. Thread-safe:
/// metrics may change meanwhile, and a histogram's _count still equals its +Inf bucket. A
/// registration waits until the text is written.
///
/// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
[[nodiscard]] std::string prometheus_text(const MetricsRegistry& registry);

}  // namespace weft
