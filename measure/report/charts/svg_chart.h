#pragma once

#include <string>
#include <string_view>

#include "weft/measure/report/report.h"

namespace weft::measure {

/// The size of a chart in CSS pixels. Text has one size in all charts, so a narrow one has fewer
/// ticks and not smaller ones.
struct ChartSize {
  int width = 760;
  int height = 400;  ///< without the height that a legend of several lines adds
};
inline constexpr ChartSize kWideChart{};
inline constexpr ChartSize kNarrowChart{.width = 340, .height = 320};

/// Returns the figure as an <svg> element, without its caption. It looks as chart_style() says,
/// which must be in force. The names within it begin with `id`, a letter followed by letters and
/// digits, which must differ between the charts of a page.
[[nodiscard]] std::string svg_chart(const Figure& figure, ChartSize size, std::string_view id);

/// The CSS of charts: light, dark and printed.
[[nodiscard]] std::string chart_style();

}  // namespace weft::measure
