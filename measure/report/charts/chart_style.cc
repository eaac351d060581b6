#include <string>
#include <string_view>

#include "weft/measure/report/charts/svg_chart.h"

namespace weft::measure {
namespace {

// Text has a contrast of at least 4.5 on the page, lines of at least 3. There are eight colours;
// marks and hatchings distinguish series besides.
constexpr std::string_view kLight = R"(
--sheet:#fffdf9;--ink:#26231e;--muted:#655e53;--grid:#e9e3d7;--edge:#8f8677;
--c0:#2f4f86;--c1:#b4472f;--c2:#2e7d5b;--c3:#8757a8;--c4:#9a6a00;--c5:#0f7d8c;--c6:#7a4f2c;--c7:#6a6f78;)";
constexpr std::string_view kDark = R"(
--sheet:#1b1e25;--ink:#e9e3d7;--muted:#a79f91;--grid:#2e323b;--edge:#777d8a;
--c0:#8fb3f2;--c1:#f08d72;--c2:#7cc9a0;--c3:#cda6ea;--c4:#e3bd5c;--c5:#6fcad2;--c6:#d6ac84;--c7:#b3b8c0;)";

constexpr std::string_view kRules = R"(
.weft-chart{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
.weft-chart .sheet{fill:var(--sheet)}
.weft-chart text{fill:var(--muted)}
.weft-chart .title{font-size:15px;font-weight:600;fill:var(--ink)}
.weft-chart .key{font-size:13px;fill:var(--ink)}
.weft-chart .middle{text-anchor:middle}
.weft-chart .end{text-anchor:end}
.weft-chart .grid{stroke:var(--grid)}
.weft-chart .zero{stroke:var(--edge)}
.weft-chart .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
.weft-chart .mark{fill:currentColor;stroke:var(--sheet)}
.weft-chart .dots,.weft-chart .specks{fill:none;stroke:currentColor;stroke-width:4;stroke-opacity:.7;stroke-linecap:round}
.weft-chart .specks{stroke-width:3;stroke-linecap:square}
.weft-chart .bar{stroke:currentColor}
.weft-chart .tint{fill:currentColor;fill-opacity:.22}
.weft-chart .hatch{fill:currentColor;fill-opacity:.8}
.weft-chart .hit{fill:transparent}
.weft-chart .paper .line{stroke-dasharray:6 4}
.weft-chart .paper .mark{fill:var(--sheet);stroke:currentColor;stroke-width:1.6}
.weft-chart .paper .bar{fill:transparent;stroke-width:1.6;stroke-dasharray:5 3}
)";

std::string colors(std::string_view values) {
  std::string rule = ".weft-chart{";
  return rule.append(values).append("}\n");
}

}  // namespace

std::string chart_style() {
  std::string style = colors(kLight);
  style.append("@media (prefers-color-scheme:dark){").append(colors(kDark)).append("}\n");
  style.append("@media print{").append(colors(kLight)).append("}").append(kRules);
  for (int i = 0; i < 8; ++i) {
    const std::string color = "c" + std::to_string(i);
    style.append(".weft-chart .")
        .append(color)
        .append("{color:var(--")
        .append(color)
        .append(")}\n");
  }
  return style;
}

}  // namespace weft::measure
