#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/report/report.h"

namespace weft::measure {

/// The places of the series' names in a chart: side by side, in as many rows as they need.
struct Legend {
  struct Entry {
    std::size_t series = 0;  ///< the series' index in the figure
    double x = 0, y = 0;     ///< the left end of its swatch, and the swatch's middle
    std::string text{};      ///< shortened to the chart's width if necessary
  };
  std::vector<Entry> entries;
  double height = 0;  ///< 0 where no series has a name
};

/// Lays out a legend for a chart of `width` pixels. Series without a name have no entry.
[[nodiscard]] Legend lay_out(const std::vector<Series>& all, double width);

/// Draws the legend below the height `top`. Names inside the chart begin with `id`.
[[nodiscard]] std::string svg_legend(const std::vector<Series>& all,
                                     const std::vector<std::size_t>& looks, const Legend& legend,
                                     double top, std::string_view id);

}  // namespace weft::measure
