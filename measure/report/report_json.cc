#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <string_view>

#include "weft/core/text/utf8.h"
#include "weft/measure/report/report.h"

namespace weft::measure {
namespace {

namespace json = boost::json;

json::string json_text(std::string_view text) { return json::string(lossy_utf8(text)); }

json::array texts_of(const std::vector<std::string>& texts) {
  json::array all;
  for (const std::string& text : texts) all.emplace_back(json_text(text));
  return all;
}

json::object json_of(const Table& table) {
  json::array rows;
  for (const auto& row : table.rows) rows.emplace_back(texts_of(row));
  return {{"title", json_text(table.title)},
          {"columns", texts_of(table.columns)},
          {"rows", std::move(rows)},
          {"note", json_text(table.note)}};
}

std::string_view style_name(Series::Style style) {
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
  return {{"title", json_text(axis.title)}, {"logarithmic", axis.logarithmic}};
}

json::object json_of(const Series& series) {
  json::array points;
  for (const auto& [x, y] : series.points) {
    if (std::isfinite(x) && std::isfinite(y)) points.emplace_back(json::array{x, y});
  }
  return {{"name", json_text(series.name)},
          {"style", style_name(series.style)},
          {"of_paper", series.of_paper},
          {"points", std::move(points)}};
}

json::object json_of(const Figure& figure) {
  json::array series;
  for (const Series& one : figure.series) series.emplace_back(json_of(one));
  return {{"title", json_text(figure.title)},
          {"caption", json_text(figure.caption)},
          {"x", json_of(figure.x)},
          {"y", json_of(figure.y)},
          {"series", std::move(series)}};
}

/// Copies `value` with null for NaN and infinity, which JSON lacks. Its texts, some of them a
/// server's words, become UTF-8.
json::value as_json_can_be(const json::value& value) {
  if (const auto* const number = value.if_double(); number != nullptr && !std::isfinite(*number)) {
    return nullptr;
  }
  if (const auto* const text = value.if_string()) return json_text(*text);
  if (const auto* const array = value.if_array()) {
    json::array all;
    all.reserve(array->size());
    for (const json::value& one : *array) all.push_back(as_json_can_be(one));
    return all;
  }
  if (const auto* const object = value.if_object()) {
    json::object all;
    all.reserve(object->size());
    for (const auto& [name, one] : *object) {
      all.insert_or_assign(lossy_utf8(name), as_json_can_be(one));
    }
    return all;
  }
  return value;
}

}  // namespace

json::value to_json(const Report& report) {
  json::object facts;
  for (const auto& [name, value] : report.facts) {
    facts.insert_or_assign(lossy_utf8(name), json_text(value));
  }
  json::array tables;
  for (const Table& table : report.tables) tables.emplace_back(json_of(table));
  json::array figures;
  for (const Figure& figure : report.figures) figures.emplace_back(json_of(figure));
  return json::object{{"title", json_text(report.title)},   {"summary", json_text(report.summary)},
                      {"facts", std::move(facts)},          {"tables", std::move(tables)},
                      {"figures", std::move(figures)},      {"findings", texts_of(report.findings)},
                      {"data", as_json_can_be(report.data)}};
}

}  // namespace weft::measure
