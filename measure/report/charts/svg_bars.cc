#include "weft/measure/report/charts/svg_bars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "weft/measure/report/charts/svg_text.h"
#include "weft/measure/report/charts/thin_points.h"

namespace weft::measure {
namespace {

struct Hatching {
  std::string_view turn;   // a transform of the pattern
  std::string_view lines;  // within 7 pixels squared
};
// The first hatching is plain.
constexpr std::array<Hatching, 5> kHatchings = {{
    {"", "M0 0h7v7h-7z"},
    {"rotate(45)", "M0 0h2.6v7h-2.6z"},
    {"rotate(-45)", "M0 0h1.4v7h-1.4zM3.5 0h1.4v7h-1.4z"},
    {"", "M1 1h3v3h-3z"},
    {"rotate(90)", "M0 0h3v7h-3z"},
}};
constexpr double kWidest = 64;    // pixels
constexpr double kFilled = 0.76;  // share of the distance between two neighbouring x

// With more bars than this allows, they are drawn as lines, which show the extremes.
constexpr double kPixelsPerBar = 4;

bool has_bars(const Series& series) { return series.style == Series::Style::kBars; }

double least_gap(const std::vector<double>& sorted) {
  double least = sorted.back() - sorted.front();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    least = std::min(least, sorted[i] - sorted[i - 1]);
  }
  return least;
}

/// Returns the pixels for all bars at one x together.
double room_of(const std::vector<double>& places, const PlotArea& area) {
  if (places.size() < 2) return area.width / 2;
  std::vector<double> across;
  for (const double place : places) across.push_back(area.across(place));
  return least_gap(across) * kFilled;
}

}  // namespace

std::vector<double> bar_places(const Figure& figure) {
  std::vector<double> places;
  for (const Series& series : figure.series) {
    if (!has_bars(series)) continue;
    for (const auto& point : series.points) places.push_back(point.first);
  }
  std::ranges::sort(places);
  const auto rest = std::ranges::unique(places);
  places.erase(rest.begin(), rest.end());
  return places;
}

double bar_margin(const std::vector<double>& places, bool logarithmic) {
  if (places.size() < 2) return 0;
  std::vector<double> even(places);
  if (logarithmic)
    std::ranges::transform(even, even.begin(), [](double x) { return std::log10(x); });
  return least_gap(even) / (even.back() - even.front()) / 2;
}

std::string svg_hatching(std::size_t look, std::string_view id) {
  return std::string("url(#").append(id).append("-h").append(std::to_string(look)).append(")");
}

std::string svg_hatchings(const Figure& figure, const std::vector<std::size_t>& looks,
                          std::string_view id) {
  std::string all;
  std::set<std::size_t> done;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const Series& series = figure.series[i];
    if (!has_bars(series) || series.of_paper || !done.insert(looks[i]).second) continue;
    const Hatching& hatching = kHatchings[looks[i] % kHatchings.size()];
    all.append("<pattern id=\"").append(id).append("-h").append(std::to_string(looks[i]));
    all.append("\" class=\"").append(svg_class(series, looks[i]));
    all.append("\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\"");
    if (!hatching.turn.empty())
      all.append(" patternTransform=\"").append(hatching.turn).append("\"");
    all.append("><path class=\"tint\" d=\"M0 0h7v7h-7z\"/><path class=\"hatch\" d=\"");
    all.append(hatching.lines).append("\"/></pattern>");
  }
  return all.empty() ? all : "<defs>" + all + "</defs>\n";
}

std::string svg_bars(const Figure& figure, std::size_t number, std::size_t look,
                     const PlotArea& area, std::string_view id) {
  const Series& series = figure.series[number];
  const auto count = std::ranges::count_if(figure.series, has_bars);
  const auto before = std::count_if(
      figure.series.begin(), figure.series.begin() + static_cast<std::ptrdiff_t>(number), has_bars);
  const double room = room_of(bar_places(figure), area);
  const double width = std::clamp(room / static_cast<double>(count), 0.5, kWidest);
  const double shift = width * (static_cast<double>(before) - static_cast<double>(count) / 2);
  const double zero = area.y.logarithmic() ? area.bottom() : area.down(0);
  // A gap between neighbours, where there is room for one.
  const double inner = width > 4 ? width - 2 : width;
  std::string bars = "<g class=\"" + svg_class(series, look) + "\"";
  if (!series.of_paper) bars += " fill=\"" + svg_hatching(look, id) + "\"";
  bars += ">";
  const Points shown = thin_line(series.points, area.x.low(), area.x.high(),
                                 static_cast<std::size_t>(area.width / kPixelsPerBar));
  for (const auto& point : shown) {
    const double end = area.down(point.second);
    bars += "<rect class=\"bar\" x=\"" +
            px(area.across(point.first) + shift + (width - inner) / 2) + "\" y=\"" +
            px(std::min(end, zero)) + "\" width=\"" + px(inner) + "\" height=\"" +
            px(std::abs(end - zero)) + "\">" + svg_point_title(figure, series, point) + "</rect>";
  }
  return bars + "</g>\n";
}

}  // namespace weft::measure
