#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/report/charts/axis_scale.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// Where a chart's values are drawn, in CSS pixels from the top left.
struct PlotArea {
  double left = 0, top = 0, width = 0, height = 0;
  AxisScale x{}, y{};

  [[nodiscard]] double across(double value) const { return left + x.place(value) * width; }
  [[nodiscard]] double down(double value) const { return top + (1 - y.place(value)) * height; }
  [[nodiscard]] double bottom() const { return top + height; }
};

/// "name", or "name (paper)".
[[nodiscard]] std::string shown_name(const Series& series);

/// Of each series, by its number: what tells it from the others with a colour and without, a mark
/// or a bar's hatching. Series of one name share it, so that a paper's curve looks like ours but
/// for its dashes.
[[nodiscard]] std::vector<std::size_t> looks_of(const std::vector<Series>& all);

/// The classes of a series' <g>: its colour, and whether it is a paper's.
[[nodiscard]] std::string svg_class(const Series& series, std::size_t look);

/// A mark of the look's form around a place.
[[nodiscard]] std::string svg_mark(std::size_t look, double x, double y);

/// What the mouse and a screen reader are told about a point.
[[nodiscard]] std::string svg_point_title(const Figure& figure, const Series& series,
                                          const std::pair<double, double>& point);

/// A line, steps or points. Their values are such as can_show() takes.
[[nodiscard]] std::string svg_curve(const Figure& figure, std::size_t number, std::size_t look,
                                    const PlotArea& area);

/// What stands for a series in the legend: 26 pixels wide from `x`, around the height `y`. `id` is
/// what the names of this chart begin with.
[[nodiscard]] std::string svg_swatch(const Series& series, std::size_t look, double x, double y,
                                     std::string_view id);

}  // namespace weft::measure
