#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/report/charts/svg_series.h"

namespace weft::measure {

/// Returns the values of x at which the figure has bars, ascending and each once.
[[nodiscard]] std::vector<double> bar_places(const Figure& figure);

/// Returns how far an axis must extend beyond the outermost bars to contain them, as a fraction of
/// their range of x.
[[nodiscard]] double bar_margin(const std::vector<double>& places, bool logarithmic);

/// Returns the hatchings of all bars as <defs>. Names inside the chart begin with `id`.
[[nodiscard]] std::string svg_hatchings(const Figure& figure, const std::vector<std::size_t>& looks,
                                        std::string_view id);

/// Returns the fill of a bar with this look, "url(#...)".
[[nodiscard]] std::string svg_hatching(std::size_t look, std::string_view id);

/// Draws the bars of one series. Bars of several series stand side by side.
[[nodiscard]] std::string svg_bars(const Figure& figure, std::size_t number, std::size_t look,
                                   const PlotArea& area, std::string_view id);

}  // namespace weft::measure
