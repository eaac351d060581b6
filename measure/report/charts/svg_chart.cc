#include "weft/measure/report/charts/svg_chart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/measure/report/charts/svg_axes.h"
#include "weft/measure/report/charts/svg_bars.h"
#include "weft/measure/report/charts/svg_legend.h"
#include "weft/measure/report/charts/svg_series.h"
#include "weft/measure/report/charts/svg_text.h"
#include "weft/measure/server/visible_text.h"

namespace weft::measure {
namespace {

using Style = Series::Style;

constexpr double kTitle = 15;  // pixels, the same as in chart_style()
constexpr double kTitleLine = 21;
constexpr double kAbovePlot = 38;  // the title of y, and a gap between it and the legend
constexpr double kBelowPlot = 42;  // ticks' labels and the title of x
constexpr double kLegendRow = 22;
constexpr double kEmptyPlot = 90;

/// Returns the figure without values that its axes cannot show.
Figure drawable(const Figure& figure) {
  Figure shown = figure;
  for (Series& series : shown.series) {
    std::erase_if(series.points, [&figure](const std::pair<double, double>& point) {
      return !can_show(point.first, figure.x.logarithmic) ||
             !can_show(point.second, figure.y.logarithmic);
    });
  }
  return shown;
}

std::string drawn_series(const Figure& figure, const std::vector<std::size_t>& looks,
                         const PlotArea& area, std::string_view id) {
  std::string bars;
  std::string curves;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    if (figure.series[i].style == Style::kBars) {
      bars += svg_bars(figure, i, looks[i], area, id);
    } else {
      curves += svg_curve(figure, i, looks[i], area);
    }
  }
  return bars + curves;
}

std::string begin(const Figure& figure, ChartSize size, double height, std::string_view id) {
  const std::string name(id);
  const std::string width = px(size.width);
  return "<svg class=\"weft-chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width +
         " " + px(height) + "\" width=\"" + width + "\" height=\"" + px(height) +
         "\" role=\"img\" aria-labelledby=\"" + name + "-t " + name + "-d\">\n<title id=\"" + name +
         "-t\">" + escaped(figure.title) + "</title>\n<desc id=\"" + name + "-d\">" +
         escaped(figure.caption) + "</desc>\n";
}

/// Draws everything below `top` and sets `height` to the height of the whole chart.
std::string body(const Figure& figure, ChartSize size, std::string_view id, double top,
                 double& height) {
  const std::vector<std::size_t> looks = looks_of(figure.series);
  const Legend legend = lay_out(figure.series, size.width);
  const bool empty = std::ranges::all_of(
      figure.series, [](const Series& series) { return series.points.empty(); });
  const double plot = empty ? kEmptyPlot : size.height - kAbovePlot - kBelowPlot - kLegendRow;
  const PlotArea area = plot_area(figure, size.width, top + legend.height + kAbovePlot, plot);
  height = area.bottom() + kBelowPlot;
  std::string drawn = svg_hatchings(figure, looks, id) +
                      svg_legend(figure.series, looks, legend, top, id) +
                      svg_axis_titles(figure, area, size.width);
  drawn += svg_axes(area, !empty);
  if (!empty) return drawn + drawn_series(figure, looks, area, id);
  return drawn +
         svg_text(size.width / 2.0, area.top + area.height / 2, "axis middle", "no values") + "\n";
}

}  // namespace

std::string svg_chart(const Figure& figure, ChartSize size, std::string_view id) {
  double height = 0;
  const std::string drawn = body(drawable(figure), size, id, 0, height);
  return begin(figure, size, height, id) + drawn + "</svg>\n";
}

std::string to_svg(const Figure& figure) {
  constexpr double kEdge = 20;
  constexpr std::string_view kId = "chart";
  std::string title;
  double top = 0;
  for (const std::string& text : broken(figure.title, kWideChart.width, kTitle)) {
    top += kTitleLine;
    title += svg_text(0, top - 5, "title", text) + "\n";
  }
  if (top > 0) top += 8;
  double height = 0;
  const std::string drawn = body(drawable(figure), kWideChart, kId, top, height);
  const ChartSize outer{.width = kWideChart.width + 2 * static_cast<int>(kEdge)};
  return begin(figure, outer, height + 2 * kEdge, kId) + "<style>" + chart_style() +
         "</style>\n<rect class=\"sheet\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n"
         "<g transform=\"translate(20 20)\">\n" +
         title + drawn + "</g>\n</svg>\n";
}

}  // namespace weft::measure
