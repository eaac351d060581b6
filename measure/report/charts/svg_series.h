#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/report/charts/axis_scale.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// The area of a chart for its values, in CSS pixels from the top left.
struct PlotArea {
  double left = 0, top = 0, width = 0, height = 0;
  AxisScale x{}, y{};

  [[nodiscard]] double across(double value) const { return left + x.place(value) * width; }
  [[nodiscard]] double down(double value) const { return top + (1 - y.place(value)) * height; }
  [[nodiscard]] double bottom() const { return top + height; }
};

/// Returns the series' name, with " (paper)" after it where its values are from a paper.
[[nodiscard]] std::string shown_name(const Series& series);

/// Returns the look of each series: a number for a colour and for a mark or a bar's hatching, so
/// that series differ without colours, too. Series with one name share their look, so a paper's
/// curve looks like ours except for its dashes.
[[nodiscard]] std::vector<std::size_t> looks_of(const std::vector<Series>& all);

/// Returns the classes of a series' <g>: its colour, and whether it is a paper's.
[[nodiscard]] std::string svg_class(const Series& series, std::size_t look);

/// Draws the mark of this look around (x, y).
[[nodiscard]] std::string svg_mark(std::size_t look, double x, double y);

/// Returns the title of a point, which a mouse or a screen reader shows.
[[nodiscard]] std::string svg_point_title(const Figure& figure, const Series& series,
                                          const std::pair<double, double>& point);

/// Draws a line, steps or points. can_show() must accept all values.
[[nodiscard]] std::string svg_curve(const Figure& figure, std::size_t number, std::size_t look,
                                    const PlotArea& area);

/// Draws the series' swatch in the legend: 26 pixels wide from `x`, around the height `y`. Names
/// inside the chart begin with `id`.
[[nodiscard]] std::string svg_swatch(const Series& series, std::size_t look, double x, double y,
                                     std::string_view id);

}  // namespace weft::measure
