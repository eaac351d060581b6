#include "weft/net/routes/routes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/routes/router.h"
#include "weft/tests/fixture/doc_page.h"

namespace weft {
namespace {

TEST(RoutesTest, HaveEachMethodOfAPathOnce) {
  std::set<std::pair<boost::beast::http::verb, std::string_view>> seen;
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(seen.insert({route.method, route.path}).second) << route.path;
    EXPECT_TRUE(route.path.starts_with('/')) << route.path;
    EXPECT_NE(route.handle, nullptr) << route.path;
  }
}

TEST(RoutesTest, AreThoseOfThePage) {
  std::set<std::string> rows;
  for (const test::DocRow& row : test::doc_rows(test::doc_page("http-api.md"))) {
    const std::string name = test::plain_cell(row.cells.front());
    if (name.find(" /") != std::string::npos) rows.insert(name);
  }
  std::set<std::string> routes;
  for (const Route& route : all_routes()) {
    routes.insert(std::string(to_string(route.method)) + " " + std::string(route.path));
  }
  EXPECT_EQ(rows, routes);
}

// A request that a pattern with "{id}" matches must not match another one of the same method.
TEST(RoutesTest, AreFoundWhateverTheirOrder) {
  for (const Route& route : all_routes()) {
    std::string path(route.path);
    for (const std::string_view hole : {"{id}", "{name}"}) {
      const auto place = path.find(hole);
      if (place != std::string::npos) path.replace(place, hole.size(), "a");
    }
    for (const Route& other : all_routes()) {
      const bool found = other.method == route.method && matches(other.path, path);
      EXPECT_EQ(found, &other == &route) << path << " and " << other.path;
    }
  }
}

TEST(RoutesTest, WantAKeyButWhereAManagerAsksWhetherTheServerLives) {
  std::set<std::string_view> open;
  for (const Route& route : all_routes()) {
    if (!route.guarded) open.insert(route.path);
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"/health", "/live"}));
}

}  // namespace
}  // namespace weft
