#include "weft/measure/report/charts/svg_axes.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "weft/measure/report/charts/svg_bars.h"
#include "weft/measure/report/charts/svg_text.h"

namespace weft::measure {
namespace {

using Style = Series::Style;

constexpr double kAxisTextSize = 12;  // pixels, the same as in chart_style()
constexpr double kLabelGap = 8;       // between neighbouring labels
constexpr double kPixelsPerX = 80;    // for each tick
constexpr double kPixelsPerY = 52;
constexpr std::size_t kMostOwnTicks = 12;

std::vector<double> values_of(const Figure& figure, double std::pair<double, double>::* part) {
  std::vector<double> values;
  for (const Series& series : figure.series) {
    for (const auto& point : series.points) values.push_back(point.*part);
  }
  return values;
}

AxisScale scale_y(const Figure& figure, double height) {
  std::vector<double> values = values_of(figure, &std::pair<double, double>::second);
  const bool bars = std::ranges::any_of(figure.series, [](const Series& series) {
    return series.style == Style::kBars && !series.points.empty();
  });
  // A bar's length is its value, so bars begin at 0.
  if (bars && !figure.y.logarithmic) values.push_back(0);
  return AxisScale::around(values, {.logarithmic = figure.y.logarithmic,
                                    .from_zero = true,
                                    .round = true,
                                    .ticks = static_cast<int>(height / kPixelsPerY)});
}

/// Whether the labels of these ticks fit beside each other.
bool has_room(const AxisScale& scale, double width) {
  const auto& ticks = scale.ticks();
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double apart = (scale.place(ticks[i].value) - scale.place(ticks[i - 1].value)) * width;
    const double needed = (text_width(ticks[i].label, kAxisTextSize) +
                           text_width(ticks[i - 1].label, kAxisTextSize)) /
                              2 +
                          kLabelGap;
    if (apart < needed) return false;
  }
  return true;
}

void leave_out_every_other(AxisScale& scale) {
  std::vector<double> left;
  for (std::size_t i = 0; i < scale.ticks().size(); i += 2) left.push_back(scale.ticks()[i].value);
  scale.set_ticks(left);
}

/// Returns measured values that get ticks of their own: where bars stand, and where values are
/// factors apart. 1, 4 and 16 may have been measured, while 1, 2 and 5 were not.
std::vector<double> own_ticks(const Figure& figure, const std::vector<double>& places) {
  if (!places.empty()) return places;
  if (!figure.x.logarithmic) return {};
  std::vector<double> values = values_of(figure, &std::pair<double, double>::first);
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
  const bool whole = std::ranges::all_of(values, [](double x) { return x == std::round(x); });
  return whole ? values : std::vector<double>();
}

AxisScale scale_x(const Figure& figure, double width) {
  const std::vector<double> places = bar_places(figure);
  const std::vector<double> values = values_of(figure, &std::pair<double, double>::first);
  AxisScale scale =
      AxisScale::around(values, {.logarithmic = figure.x.logarithmic,
                                 .from_zero = places.empty(),
                                 .margin = bar_margin(places, figure.x.logarithmic),
                                 .ticks = std::max(3, static_cast<int>(width / kPixelsPerX))});
  const std::vector<double> own = own_ticks(figure, places);
  if (!own.empty() && own.size() <= kMostOwnTicks) {
    AxisScale with_own = scale;
    with_own.set_ticks(own);
    if (has_room(with_own, width)) return with_own;
  }
  while (scale.ticks().size() > 2 && !has_room(scale, width)) leave_out_every_other(scale);
  return scale;
}

std::string line(double x1, double y1, double across, double down, std::string_view where) {
  std::string path = "<path class=\"";
  path.append(where).append("\" d=\"M").append(px(x1)).append(" ").append(px(y1));
  if (across != 0) path.append("h").append(px(across));
  if (down != 0) path.append("v").append(px(down));
  return path.append("\"/>\n");
}

}  // namespace

PlotArea plot_area(const Figure& figure, double width, double top, double height) {
  PlotArea area{.top = top, .height = height, .y = scale_y(figure, height)};
  double widest = 0;
  for (const Tick& tick : area.y.ticks()) {
    widest = std::max(widest, text_width(tick.label, kAxisTextSize));
  }
  area.left = std::ceil(widest) + kLabelGap + 2;
  area.width = width - area.left - 20;
  area.x = scale_x(figure, area.width);
  return area;
}

std::string svg_axes(const PlotArea& area, bool ticks) {
  std::string drawn = line(area.left, area.bottom(), area.width, 0, "zero");
  if (!ticks) return drawn;
  for (const Tick& tick : area.y.ticks()) {
    const double y = area.down(tick.value);
    drawn += line(area.left, y, area.width, 0, tick.value == 0 ? "zero" : "grid");
    drawn += svg_text(area.left - kLabelGap, y + 4, "tick end", tick.label) + "\n";
  }
  for (const Tick& tick : area.x.ticks()) {
    const double x = area.across(tick.value);
    drawn += line(x, area.bottom(), 0, 5, "zero");
    drawn += svg_text(x, area.bottom() + 18, "tick middle", tick.label) + "\n";
  }
  return drawn;
}

std::string svg_axis_titles(const Figure& figure, const PlotArea& area, double width) {
  const std::string x = fitted(figure.x.title, width, kAxisTextSize);
  // The title of x is centred below the plot, but stays within the chart.
  const double half = text_width(x, kAxisTextSize) / 2;
  const double middle = std::clamp(area.left + area.width / 2, std::min(half, width / 2),
                                   std::max(width - half, width / 2));
  return svg_text(0, area.top - 14, "axis", fitted(figure.y.title, width, kAxisTextSize)) +
         svg_text(middle, area.bottom() + 37, "axis middle", x) + "\n";
}

}  // namespace weft::measure
