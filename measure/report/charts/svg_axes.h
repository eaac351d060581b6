#pragma once

#include <string>

#include "weft/measure/report/charts/svg_series.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// Returns the area for the figure's values in a chart of `width` pixels, in the `height` pixels
/// below `top`, with axes that fit the values. The widest label of y determines the area's left
/// end.
[[nodiscard]] PlotArea plot_area(const Figure& figure, double width, double top, double height);

/// Draws the base line and, where `ticks` is set, ticks with their labels and a line across the
/// plot for each tick of y.
[[nodiscard]] std::string svg_axes(const PlotArea& area, bool ticks);

/// Draws the title of y above the plot and the title of x below it, cut where the chart is too
/// narrow.
[[nodiscard]] std::string svg_axis_titles(const Figure& figure, const PlotArea& area, double width);

}  // namespace weft::measure
