#include "weft/measure/report/charts/svg_series.h"

#include <algorithm>
#include <array>

#include "weft/measure/report/charts/svg_bars.h"
#include "weft/measure/report/charts/svg_text.h"
#include "weft/measure/report/charts/thin_points.h"
#include "weft/measure/server/visible_text.h"

namespace weft::measure {
namespace {

constexpr std::size_t kColors = 8;  // the number of colours in chart_style()
// Each mark has about the same area, so that none looks more important.
constexpr std::array<std::string_view, 6> kMarks = {
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.6-3.6h7.2v7.2h-7.2z",
    "m0-4.8l4.6 8h-9.2z",
    "m0-5.2l5.2 5.2-5.2 5.2-5.2-5.2z",
    "m0 4.8l4.6-8h-9.2z",
    "m-1.7-4.8h3.4v3.1h3.1v3.4h-3.1v3.1h-3.4v-3.1h-3.1v-3.4h3.1z",
};
// The most marks that can still be distinguished. Each has a title with its values.
constexpr std::size_t kMostMarks = 60;
constexpr std::size_t kMostDots = 8000;  // some 100 KiB

Points on_page(const Series& series, const PlotArea& area) {
  Points points;
  points.reserve(series.points.size());
  for (const auto& [x, y] : series.points) points.emplace_back(area.across(x), area.down(y));
  return points;
}

std::string point_text(const Points::value_type& point) {
  return px(point.first) + " " + px(point.second);
}

std::string line_path(const Points& points, bool steps) {
  std::string path = "<path class=\"line\" d=\"M" + point_text(points.front());
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (steps) {
      path += "H" + px(points[i].first) + "V" + px(points[i].second);
    } else {
      path += "L" + point_text(points[i]);
    }
  }
  return path + "\"/>";
}

/// Draws a few marks on a line of very many points, at other points than on other lines.
std::string some_marks(const Points& points, std::size_t look, double width) {
  constexpr double kApart = 1.0 / 7;
  std::string marks;
  double next = points.front().first + width * kApart * (0.2 + 0.3 * static_cast<double>(look % 3));
  for (const auto& [x, y] : points) {
    if (x < next) continue;
    marks += svg_mark(look, x, y);
    next = x + width * kApart;
  }
  return marks;
}

std::string all_marks(const Figure& figure, const Series& series, std::size_t look,
                      const PlotArea& area) {
  std::string marks;
  for (const auto& point : series.points) {
    const double x = area.across(point.first);
    const double y = area.down(point.second);
    marks += "<g>" + svg_point_title(figure, series, point) + "<circle class=\"hit\" cx=\"" +
             px(x) + "\" cy=\"" + px(y) + "\" r=\"9\"/>" + svg_mark(look, x, y) + "</g>";
  }
  return marks;
}

std::string dots(const Points& points, std::size_t look) {
  std::string path = look % 2 == 0 ? "<path class=\"dots\" d=\"" : "<path class=\"specks\" d=\"";
  for (const auto& point : points) path += "M" + point_text(point) + "h0";
  return path + "\"/>";
}

}  // namespace

std::string shown_name(const Series& series) {
  return series.of_paper ? series.name + " (paper)" : series.name;
}

std::vector<std::size_t> looks_of(const std::vector<Series>& all) {
  std::vector<std::size_t> looks;
  std::size_t next = 0;
  for (const Series& series : all) {
    const auto same = std::ranges::find(all, series.name, &Series::name);
    const auto first = static_cast<std::size_t>(same - all.begin());
    looks.push_back(first < looks.size() ? looks[first] : next++);
  }
  return looks;
}

std::string svg_class(const Series& series, std::size_t look) {
  return "c" + std::to_string(look % kColors) + (series.of_paper ? " paper" : "");
}

std::string svg_mark(std::size_t look, double x, double y) {
  std::string mark = "<path class=\"mark\" d=\"M" + point_text({x, y});
  return mark.append(kMarks[look % kMarks.size()]).append("\"/>");
}

std::string svg_point_title(const Figure& figure, const Series& series,
                            const std::pair<double, double>& point) {
  const auto line = [](const std::string& axis, double value) {
    return "\n" + (axis.empty() ? "" : escaped(axis) + ": ") + number(value);
  };
  return "<title>" + escaped(shown_name(series)) + line(figure.x.title, point.first) +
         line(figure.y.title, point.second) + "</title>";
}

std::string svg_curve(const Figure& figure, std::size_t number, std::size_t look,
                      const PlotArea& area) {
  const Series& series = figure.series[number];
  if (series.points.empty()) return "";
  const bool marked = series.points.size() <= kMostMarks;
  const Points points = on_page(series, area);
  std::string drawn;
  if (series.style == Series::Style::kPoints) {
    drawn =
        marked ? all_marks(figure, series, look, area) : dots(thin_cloud(points, kMostDots), look);
  } else {
    const auto columns = static_cast<std::size_t>(area.width);
    const Points thin = thin_line(points, area.left, area.left + area.width, columns);
    drawn = line_path(thin, series.style == Series::Style::kStep) +
            (marked ? all_marks(figure, series, look, area) : some_marks(thin, look, area.width));
  }
  return "<g class=\"" + svg_class(series, look) + "\"><title>" + escaped(shown_name(series)) +
         "</title>" + drawn + "</g>\n";
}

std::string svg_swatch(const Series& series, std::size_t look, double x, double y,
                       std::string_view id) {
  std::string swatch = "<g class=\"" + svg_class(series, look) + "\">";
  if (series.style == Series::Style::kBars) {
    swatch += "<rect class=\"bar\" x=\"" + px(x + 5) + "\" y=\"" + px(y - 6) +
              "\" width=\"16\" height=\"12\"" +
              (series.of_paper ? "" : " fill=\"" + svg_hatching(look, id) + "\"") + "/>";
  } else {
    if (series.style != Series::Style::kPoints) {
      swatch += "<path class=\"line\" d=\"M" + point_text({x, y}) + "h26\"/>";
    }
    swatch += svg_mark(look, x + 13, y);
  }
  return swatch + "</g>";
}

}  // namespace weft::measure
