#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "weft/measure/load/load_report.h"

namespace weft::measure {
namespace {

// The most points that a curve on a page can show; a distribution of more values is thinned out.
constexpr std::size_t kMostPoints = 400;
// The points of a curve over time: enough to show its course, and few enough that a point is more
// than chance.
constexpr double kWindows = 60;

Series steps(std::string name) {
  Series series;
  series.name = std::move(name);
  series.style = Series::Style::kStep;
  return series;
}

Series distribution_series(std::string name, std::vector<double> values) {
  Series series;
  series.name = std::move(name);
  std::ranges::sort(values);
  const std::size_t step = std::max<std::size_t>(1, values.size() / kMostPoints);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % step != 0 && i + 1 != values.size()) continue;
    series.points.emplace_back(values[i],
                               static_cast<double>(i + 1) / static_cast<double>(values.size()));
  }
  return series;
}

Figure distributions(const std::vector<Outcome>& outcomes) {
  std::vector<double> first;
  std::vector<double> per_token;
  std::vector<double> whole;
  for (const Outcome& one : outcomes) {
    if (!one.error.empty()) continue;
    first.push_back(first_token_of(one));
    if (one.output > 1) per_token.push_back(per_token_of(one));
    whole.push_back(one.end);
  }
  return {.title = "Distribution of times",
          .caption = "The part of the requests that took at most so long.",
          .x = {.title = "seconds", .logarithmic = true},
          .y = {.title = "part of the requests"},
          .series = {distribution_series("time to first token", std::move(first)),
                     distribution_series("time per output token", std::move(per_token)),
                     distribution_series("end to end", std::move(whole))}};
}

double last_end(const std::vector<Outcome>& outcomes) {
  double end = 0;
  for (const Outcome& one : outcomes) end = std::max(end, one.began + one.end);
  return end;
}

/// Counts events by windows of time and returns them as a rate.
class RateOverTime {
 public:
  explicit RateOverTime(double whole)
      : width_(whole > 0 ? whole / kWindows : 1), counts_(static_cast<std::size_t>(kWindows)) {}

  void add(double at, double count) {
    const double place = std::clamp(std::floor(at / width_), 0.0, kWindows - 1);
    counts_[static_cast<std::size_t>(place)] += count;
  }
  [[nodiscard]] Series series(std::string name) const {
    Series series = steps(std::move(name));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      series.points.emplace_back(static_cast<double>(i) * width_, counts_[i] / width_);
    }
    return series;
  }

 private:
  double width_;
  std::vector<double> counts_;
};

Figure arrivals_over_time(const std::vector<Outcome>& outcomes, double whole) {
  RateOverTime arrivals(whole);
  for (const Outcome& one : outcomes) arrivals.add(one.began, 1);
  return {.title = "Arrivals over time",
          .caption = "How evenly the requests came.",
          .x = {.title = "seconds"},
          .y = {.title = "requests a second"},
          .series = {arrivals.series("arrivals")}};
}

Figure tokens_over_time(const std::vector<Outcome>& outcomes, double whole) {
  RateOverTime tokens(whole);
  for (const Outcome& one : outcomes) {
    if (one.came.empty()) continue;
    // A piece may have several tokens, whose number is unknown; so they are spread evenly.
    const double each = one.output / static_cast<double>(one.came.size());
    for (const double at : one.came) tokens.add(one.began + at, each);
  }
  return {.title = "Output over time",
          .caption = "Where it is flat while requests wait, the server gives all it can.",
          .x = {.title = "seconds"},
          .y = {.title = "output tokens a second"},
          .series = {tokens.series("output tokens")}};
}

Figure under_way_over_time(const std::vector<Outcome>& outcomes) {
  std::vector<std::pair<double, int>> changes;
  for (const Outcome& one : outcomes) {
    changes.emplace_back(one.sent, 1);
    changes.emplace_back(std::max(one.sent, one.began + one.end), -1);
  }
  std::ranges::sort(changes);
  Series series = steps("requests");
  const std::size_t step = std::max<std::size_t>(1, changes.size() / (2 * kMostPoints));
  int under_way = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    under_way += changes[i].second;
    if (i % step != 0 && i + 1 != changes.size()) continue;
    series.points.emplace_back(changes[i].first, under_way);
  }
  return {.title = "Requests under way",
          .caption = "Where it grows without end, more comes than the server can do.",
          .x = {.title = "seconds"},
          .y = {.title = "requests"},
          .series = {std::move(series)}};
}

}  // namespace

std::vector<Figure> load_figures(const std::vector<Outcome>& outcomes) {
  const double whole = last_end(outcomes);
  return {distributions(outcomes), arrivals_over_time(outcomes, whole),
          tokens_over_time(outcomes, whole), under_way_over_time(outcomes)};
}

}  // namespace weft::measure
