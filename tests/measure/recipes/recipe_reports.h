#pragma once

#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/measure/recipe.h"
#include "weft/tests/measure/engine/tiny_model.h"

namespace weft::test {

/// A setup with the tiny model on one thread.
inline measure::RecipeSetup small_setup(double scale) {
  measure::RecipeSetup setup{.model = tiny_model()};
  setup.config.threads = 1;
  setup.config.max_rows = 8;
  setup.scale = scale;
  setup.repeats = 1;
  return setup;
}

inline measure::Report report_of(const std::string& recipe, double scale) {
  return measure::find_recipe(recipe)->run(small_setup(scale));
}

inline std::vector<std::string> series_of(const measure::Figure& figure) {
  std::vector<std::string> names;
  for (const measure::Series& one : figure.series) names.push_back(one.name);
  return names;
}

/// Checks the properties of every recipe's report.
inline void expect_whole(const measure::Report& report) {
  for (const measure::Table& table : report.tables) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
  }
  for (const measure::Figure& figure : report.figures) {
    EXPECT_NE(figure.caption, "");
    for (const measure::Series& series : figure.series) {
      EXPECT_FALSE(series.points.empty()) << figure.title << ": " << series.name;
      for (const auto& [x, y] : series.points) {
        EXPECT_TRUE(std::isfinite(x) && std::isfinite(y)) << figure.title << ": " << series.name;
      }
    }
  }
  EXPECT_FALSE(report.findings.empty());
  const std::string data = boost::json::serialize(measure::to_json(report));
  for (const char* not_a_number : {"NaN", "nan", "Infinity", "inf ", "e+99"}) {
    EXPECT_THAT(measure::to_text(report), testing::Not(testing::HasSubstr(not_a_number)));
    EXPECT_THAT(data, testing::Not(testing::HasSubstr(not_a_number)));
  }
}

}  // namespace weft::test
