#pragma once

#include <string>

#include "weft/measure/report/charts/svg_series.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// The axes for the figure's values, in a chart of `width` pixels, below `top` and `height` pixels
/// high. The widest label of y decides how far from the left they begin.
[[nodiscard]] PlotArea plot_area(const Figure& figure, double width, double top, double height);

/// The line that all stands on and, where they are wanted, ticks with their labels and the lines at
/// the heights of those of y.
[[nodiscard]] std::string svg_axes(const PlotArea& area, bool ticks);

/// That of y above the plot, that of x below it; cut where the chart is too narrow.
[[nodiscard]] std::string svg_axis_titles(const Figure& figure, const PlotArea& area, double width);

}  // namespace weft::measure
