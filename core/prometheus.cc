#include "weft/core/prometheus.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace weft {
namespace {

template <class Number>
void append_digits(std::string& out, Number value) {
  std::array<char, 32> digits;  // The longest is a double's: 24, such as -2.2250738585072014e-308.
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), result.ptr);
}

void append_number(std::string& out, std::uint64_t value) { append_digits(out, value); }

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    append_digits(out, value);
  }
}

enum class Place { kHelp, kLabel };

void append_escaped(std::string& out, std::string_view text, Place place) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || (c == '"' && place == Place::kLabel)) out += '\\';
      out += c;
    }
  }
}

void append_label(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append("=\"");
  append_escaped(out, value, Place::kLabel);
  out += "\",";
}

// A comma after the last label is allowed, but unusual, so the closing brace replaces it.
void append_labels(std::string& out, const Labels& labels, std::string_view le) {
  if (labels.empty() && le.empty()) return;
  out += '{';
  for (const auto& [name, value] : labels) append_label(out, name, value);
  if (!le.empty()) append_label(out, "le", le);
  out.back() = '}';
}

/// The common parts of the samples of one series.
struct Series {
  std::string_view name;
  const Labels& labels;
};

template <class Number>
void append_sample(std::string& out, const Series& series, Number value,
                   std::string_view suffix = {}, std::string_view le = {}) {
  out.append(series.name).append(suffix);
  append_labels(out, series.labels, le);
  out += ' ';
  append_number(out, value);
  out += '\n';
}

void append_metric(std::string& out, const Series& series, const Counter& counter) {
  append_sample(out, series, counter.value());
}

void append_metric(std::string& out, const Series& series, const Gauge& gauge) {
  append_sample(out, series, gauge.value());
}

void append_metric(std::string& out, const Series& series, const Histogram& histogram) {
  const HistogramValue value = histogram.value();
  std::uint64_t cumulative = 0;
  std::string le;
  for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
    cumulative += value.buckets[i];
    le.clear();
    append_number(le, histogram.bounds()[i]);
    append_sample(out, series, cumulative, "_bucket", le);
  }
  append_sample(out, series, value.count, "_bucket", "+Inf");
  append_sample(out, series, value.sum, "_sum");
  append_sample(out, series, value.count, "_count");
}

std::string_view type_name(const SeriesMap<Counter>&) { return "counter"; }
std::string_view type_name(const SeriesMap<Gauge>&) { return "gauge"; }
std::string_view type_name(const SeriesMap<Histogram>&) { return "histogram"; }

void append_family(std::string& out, const std::string& name, const MetricFamily& family) {
  out.append("# HELP ").append(name).append(" ");
  append_escaped(out, family.help, Place::kHelp);
  std::visit(
      [&](const auto& series) {
        out.append("\n# TYPE ").append(name).append(" ").append(type_name(series)).append("\n");
        for (const auto& [labels, metric] : series) append_metric(out, {name, labels}, metric);
      },
      family.series);
}

}  // namespace

std::string prometheus_text(const MetricsRegistry& registry) {
  std::string out;
  registry.for_each_family([&](const std::string& name, const MetricFamily& family) {
    append_family(out, name, family);
  });
  return out;
}

}  // namespace weft
