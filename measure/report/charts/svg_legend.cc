#include "weft/measure/report/charts/svg_legend.h"

#include <algorithm>

#include "weft/measure/report/charts/svg_series.h"
#include "weft/measure/report/charts/svg_text.h"
#include "weft/measure/server/visible_text.h"

namespace weft::measure {
namespace {

constexpr double kLegendTextSize = 13;  // pixels, the same as in chart_style()
constexpr double kSwatch = 26 + 8;
constexpr double kEntryGap = 22;
constexpr double kRow = 22;

}  // namespace

Legend lay_out(const std::vector<Series>& all, double width) {
  Legend legend;
  double x = 0;
  double y = kRow / 2;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name.empty()) continue;
    const std::string text = fitted(shown_name(all[i]), width - kSwatch, kLegendTextSize);
    const double wide = kSwatch + text_width(text, kLegendTextSize);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += kRow;
    }
    legend.entries.push_back({i, x, y, text});
    x += wide + kEntryGap;
  }
  if (!legend.entries.empty()) legend.height = y + kRow / 2;
  return legend;
}

std::string svg_legend(const std::vector<Series>& all, const std::vector<std::size_t>& looks,
                       const Legend& legend, double top, std::string_view id) {
  std::string drawn;
  for (const Legend::Entry& entry : legend.entries) {
    const Series& series = all[entry.series];
    drawn += "<g><title>" + escaped(shown_name(series)) + "</title>" +
             svg_swatch(series, looks[entry.series], entry.x, top + entry.y, id) +
             svg_text(entry.x + kSwatch, top + entry.y + 4.5, "key", entry.text) + "</g>\n";
  }
  return drawn;
}

}  // namespace weft::measure
