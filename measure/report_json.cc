#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <string_view>

#include "weft/measure/report.h"
#include "weft/text/unicode.h"

namespace weft::measure {
namespace {

namespace json = boost::json;

json::string text_of(std::string_view text) { return json::string(lossy_utf8(text)); }

json::array texts_of(const std::vector<std::string>& texts) {
  json::array all;
  for (const std::string& text : texts) all.emplace_back(text_of(text));
  return all;
}

json::object json_of(const Table& table) {
  json::array rows;
  for (const auto& row : table.rows) rows.emplace_back(texts_of(row));
  return {{"title", text_of(table.title)},
          {"columns", texts_of(table.columns)},
          {"rows", std::move(rows)},
          {"note", text_of(table.note)}};
}

std::string_view name_of(Series::Style style) {
  switch (style) {
    case Series::Style::kLine:
      return "line";
    case Series::Style::kStep:
      return "step";
    case Series::Style::kPoints:
      return "points";
    case Series::Style::kBars:
      break;
  }
  return "bars";
}

json::object json_of(const Axis& axis) {
  return {{"title", text_of(axis.title)}, {"logarithmic", axis.logarithmic}};
}

json::object json_of(const Series& series) {
  json::array points;
  for (const auto& [x, y] : series.points) {
    if (std::isfinite(x) && std::isfinite(y)) points.emplace_back(json::array{x, y});
  }
  return {{"name", text_of(series.name)},
          {"style", name_of(series.style)},
          {"of_paper", series.of_paper},
          {"points", std::move(points)}};
}

json::object json_of(const Figure& figure) {
  json::array series;
  for (const Series& one : figure.series) series.emplace_back(json_of(one));
  return {{"title", text_of(figure.title)},
          {"caption", text_of(figure.caption)},
          {"x", json_of(figure.x)},
          {"y", json_of(figure.y)},
          {"series", std::move(series)}};
}

/// JSON has neither NaN nor infinity: null stands for them.
void leave_out_what_json_lacks(json::value& value) {
  if (auto* const number = value.if_double(); number != nullptr && !std::isfinite(*number)) {
    value = nullptr;
  } else if (auto* const array = value.if_array()) {
    for (json::value& one : *array) leave_out_what_json_lacks(one);
  } else if (auto* const object = value.if_object()) {
    for (auto& field : *object) leave_out_what_json_lacks(field.value());
  }
}

}  // namespace

json::value to_json(const Report& report) {
  json::object facts;
  for (const auto& [name, value] : report.facts) {
    facts.insert_or_assign(lossy_utf8(name), text_of(value));
  }
  json::array tables;
  for (const Table& table : report.tables) tables.emplace_back(json_of(table));
  json::array figures;
  for (const Figure& figure : report.figures) figures.emplace_back(json_of(figure));
  json::value data = report.data;
  leave_out_what_json_lacks(data);
  return json::object{{"title", text_of(report.title)}, {"summary", text_of(report.summary)},
                      {"facts", std::move(facts)},      {"tables", std::move(tables)},
                      {"figures", std::move(figures)},  {"findings", texts_of(report.findings)},
                      {"data", std::move(data)}};
}

}  // namespace weft::measure
