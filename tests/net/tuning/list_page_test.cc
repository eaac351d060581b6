#include "weft/net/tuning/list_page.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr ListLimits kLimits{.standard = 2, .most = 4};

boost::json::value page_of(std::string_view query) {
  const std::vector<std::string> newest_first = {"d", "c", "b", "a"};
  const auto body = list_body(
      newest_first, list_page_of(query, kLimits).value(),
      [](const std::string& id) { return boost::json::object{{"id", id}}; },
      [](const std::string& id) { return id; });
  return boost::json::parse(body.value());
}

TEST(ListPageTest, GoesThroughAListPageByPage) {
  EXPECT_EQ(page_of(""), boost::json::parse(R"({"object":"list","data":[{"id":"d"},{"id":"c"}],
                            "first_id":"d","last_id":"c","has_more":true})"));
  EXPECT_EQ(page_of("after=c"), boost::json::parse(R"({"object":"list","data":[{"id":"b"},
                            {"id":"a"}],"first_id":"b","last_id":"a","has_more":false})"));
  EXPECT_EQ(page_of("after=a"), boost::json::parse(R"({"object":"list","data":[],"first_id":null,
                            "last_id":null,"has_more":false})"));
  EXPECT_EQ(page_of("order=asc&limit=3").at("data"),
            boost::json::parse(R"([{"id":"a"},{"id":"b"},{"id":"c"}])"));
}

TEST(ListPageTest, NamesWhatIsWrong) {
  for (const auto& [query, param] : {std::pair("limit=0", "limit"),
                                     {"limit=5", "limit"},
                                     {"limit=1x", "limit"},
                                     {"limit=-1", "limit"},
                                     {"order=up", "order"}}) {
    const auto page = list_page_of(query, kLimits);
    ASSERT_FALSE(page) << query;
    EXPECT_EQ(page.error().param, param) << query;
  }
  const auto body = list_body(
      std::vector<std::string>{"a"}, {.limit = 1, .after = "b"},
      [](const std::string& id) { return boost::json::object{{"id", id}}; },
      [](const std::string& id) { return id; });
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().param, "after");
}

}  // namespace
}  // namespace weft
