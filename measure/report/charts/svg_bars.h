#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/report/charts/svg_series.h"

namespace weft::measure {

/// Where the figure has bars, by x and each place once.
[[nodiscard]] std::vector<double> bar_places(const Figure& figure);

/// How much an axis must reach beyond the outermost of these places so that their bars are within:
/// as a part of what the places span.
[[nodiscard]] double bar_margin(const std::vector<double>& places, bool logarithmic);

/// The hatchings of all bars, as <defs>; `id` is what the names of this chart begin with.
[[nodiscard]] std::string svg_hatchings(const Figure& figure, const std::vector<std::size_t>& looks,
                                        std::string_view id);

/// "url(#...)": what a bar of this look is filled with.
[[nodiscard]] std::string svg_hatching(std::size_t look, std::string_view id);

/// The bars of one series. Those of several stand side by side.
[[nodiscard]] std::string svg_bars(const Figure& figure, std::size_t number, std::size_t look,
                                   const PlotArea& area, std::string_view id);

}  // namespace weft::measure
