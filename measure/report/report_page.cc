#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/report/charts/svg_chart.h"
#include "weft/measure/report/charts/svg_series.h"
#include "weft/measure/report/page_style.h"
#include "weft/measure/report/report.h"
#include "weft/measure/server/visible_text.h"

namespace weft::measure {
namespace {

// The most values on a page, which people can read; the JSON has all of them.
constexpr std::size_t kMostValues = 400;

/// Returns <NAME ATTRIBUTES>text</NAME> with the text escaped.
std::string element(std::string_view name, std::string_view text,
                    std::string_view attributes = "") {
  std::string html = "<";
  html.append(name).append(attributes).append(">").append(escaped(text));
  return html.append("</").append(name).append(">");
}

std::string row_of(const std::vector<std::string>& cells, std::string_view first,
                   std::string_view other) {
  std::string html = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool heads = i == 0 || other == "th";
    std::string_view scope;
    if (heads) scope = other == "th" ? " scope=\"col\"" : " scope=\"row\"";
    html += element(i == 0 ? first : other, cells[i], scope);
  }
  return html + "</tr>\n";
}

/// Writes the table in a box of its own, which scrolls where the page is too narrow for it.
std::string grid_of(const Table& table) {
  std::string html = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" +
                     escaped(table.title) + "\">\n<table>\n<thead>" +
                     row_of(table.columns, "th", "th") + "</thead>\n<tbody>\n";
  for (const auto& row : table.rows) html += row_of(row, "th", "td");
  return html + "</tbody>\n</table>\n</div>\n";
}

std::string section_of(const Table& table) {
  std::string html = "<section class=\"table\">\n";
  if (!table.title.empty()) html += element("h3", table.title) + "\n";
  html += grid_of(table);
  if (!table.note.empty()) html += element("p", table.note, " class=\"note\"") + "\n";
  return html + "</section>\n";
}

/// Writes the figure's values as numbers; nothing where there are too many to read.
std::string values_html(const Figure& figure) {
  Table table{.title = "The values of: " + figure.title,
              .columns = {"Series", figure.x.title, figure.y.title},
              .rows = {}};
  for (const Series& series : figure.series) {
    for (const auto& [x, y] : series.points) {
      if (table.rows.size() == kMostValues) return "";
      table.rows.push_back({shown_name(series), number(x), number(y)});
    }
  }
  if (table.rows.empty()) return "";
  return "<details>\n<summary>The values</summary>\n" + grid_of(table) + "</details>\n";
}

std::string section_of(const Figure& figure, std::size_t number_of_it) {
  const std::string id = "f" + std::to_string(number_of_it);
  std::string html = "<figure>\n";
  if (!figure.title.empty()) html += element("h3", figure.title) + "\n";
  html += "<div class=\"wide\">\n" + svg_chart(figure, kWideChart, id + "w") + "</div>\n" +
          "<div class=\"narrow\">\n" + svg_chart(figure, kNarrowChart, id + "n") + "</div>\n";
  if (!figure.caption.empty()) html += element("figcaption", figure.caption) + "\n";
  return html + values_html(figure) + "</figure>\n";
}

std::string facts_of(const Report& report) {
  std::string html = "<h2>How it was measured</h2>\n<dl>\n";
  for (const auto& [name, value] : report.facts) {
    html += element("dt", name) + element("dd", value) + "\n";
  }
  return html + "</dl>\n";
}

std::string findings_html(const Report& report) {
  std::string html = "<h2>Findings</h2>\n<ul class=\"findings\">\n";
  for (const std::string& finding : report.findings) html += element("li", finding) + "\n";
  return html + "</ul>\n";
}

/// The content security policy makes a browser enforce that the page runs and loads nothing.
std::string head_of(const Report& report) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta http-equiv=\"Content-Security-Policy\" "
         "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta name=\"color-scheme\" content=\"light dark\"/>\n<link rel=\"icon\" "
         "href=\"data:,\"/>\n" +
         element("title", report.title) + "\n<style>" + std::string(page_style()) + chart_style() +
         "</style>\n</head>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string html = head_of(report) + "<body>\n<header>\n" + element("h1", report.title) + "\n";
  if (!report.summary.empty()) html += element("p", report.summary) + "\n";
  html += "</header>\n<main>\n";
  if (!report.findings.empty()) html += findings_html(report);
  if (!report.figures.empty()) html += "<h2>Figures</h2>\n";
  for (std::size_t i = 0; i < report.figures.size(); ++i)
    html += section_of(report.figures[i], i + 1);
  if (!report.tables.empty()) html += "<h2>Tables</h2>\n";
  for (const Table& table : report.tables) html += section_of(table);
  if (!report.facts.empty()) html += facts_of(report);
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace weft::measure
