#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft::measure {

/// One curve, or one set of points or bars.
struct Series {
  enum class Style { kLine, kStep, kPoints, kBars };
  std::string name;
  Style style = Style::kLine;
  /// Points in the order of x, or of the line. Values that the axes cannot show are left out: NaN,
  /// infinity, and on a logarithmic axis values that are not greater than 0.
  std::vector<std::pair<double, double>> points{};
  bool of_paper = false;  ///< read from a paper: drawn dashed, and marked so
};

struct Axis {
  std::string title;  ///< with the unit
  bool logarithmic = false;
};

struct Figure {
  std::string title;
  std::string caption{};  ///< a sentence that says what the figure shows
  Axis x{}, y{};
  std::vector<Series> series{};
};

struct Table {
  std::string title;
  std::vector<std::string> columns{};
  /// Each row is as long as `columns`. The first column is text, the others are right-aligned.
  std::vector<std::vector<std::string>> rows{};
  std::string note{};  ///< facts that a reader needs, such as which numbers are a paper's
};

/// The result of a measurement, for people and for programs: the one source of the terminal's text,
/// the JSON and the page. Plain data.
struct Report {
  std::string title;
  std::string summary{};  ///< a sentence or two
  /// Facts on the measurement: model, device, load, seed, versions.
  std::vector<std::pair<std::string, std::string>> facts{};
  std::vector<Table> tables{};
  std::vector<Figure> figures{};
  std::vector<std::string> findings{};  ///< sentences, such as which claims held
  boost::json::value data{};            ///< the figures themselves, for programs
};

/// Writes facts, tables and findings as plain text, in at most 100 columns where tables fit.
[[nodiscard]] std::string to_text(const Report& report);
/// Returns {"title", "summary", "facts", "tables", "figures", "findings", "data"}, with null for
/// numbers of `data` that JSON lacks.
[[nodiscard]] boost::json::value to_json(const Report& report);
/// Returns a complete page: with inline SVG and CSS, light and dark, readable without colours,
/// printable. It has no script and loads nothing.
[[nodiscard]] std::string to_html(const Report& report);

/// Returns one figure as an SVG file for a Markdown page: with its title and its own background,
/// light and dark.
[[nodiscard]] std::string to_svg(const Figure& figure);

/// Writes a number for a table: three significant digits, and no exponent between 1e-3 and 1e6.
/// Whole numbers below 1e6 are written in full; NaN is "n/a".
[[nodiscard]] std::string number(double value);

}  // namespace weft::measure
