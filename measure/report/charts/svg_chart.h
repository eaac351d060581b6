#pragma once

#include <string>
#include <string_view>

#include "weft/measure/report/report.h"

namespace weft::measure {

/// The size of a chart in CSS pixels. All charts have text of one size, so a narrow chart has fewer
/// ticks, not smaller ones.
struct ChartSize {
  int width = 760;
  int height = 400;  ///< without the additional height of a legend of several lines
};
inline constexpr ChartSize kWideChart{};
inline constexpr ChartSize kNarrowChart{.width = 340, .height = 320};

/// Returns the figure as an <svg> element, without its caption. It needs the CSS of chart_style().
/// Names inside it begin with `id`, a letter followed by letters and digits; the charts of a page
/// need different ids.
[[nodiscard]] std::string svg_chart(const Figure& figure, ChartSize size, std::string_view id);

/// Returns the CSS of charts: light, dark and printed.
[[nodiscard]] std::string chart_style();

}  // namespace weft::measure
