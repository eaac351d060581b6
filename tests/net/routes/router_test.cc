#include "weft/net/routes/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weft {
namespace {

using boost::beast::http::verb;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr std::array kSomeRoutes = {
    Route{.method = verb::get, .path = "/pages", .handle = nullptr},
    Route{.method = verb::post, .path = "/pages", .handle = nullptr},
    Route{.method = verb::delete_, .path = "/pages/{id}", .handle = nullptr},
    Route{.method = verb::post, .path = "/pages/{id}/close", .handle = nullptr},
};

/// The index of the route that is found; -1 and the reply when there is none.
struct FoundRoute {
  std::ptrdiff_t index = -1;
  HttpReply refusal{};
};

FoundRoute found(verb method, std::string_view path) {
  auto result = Router(kSomeRoutes).find(method, path);
  if (const auto* route = std::get_if<const Route*>(&result)) {
    return {.index = *route - kSomeRoutes.data()};
  }
  return {.refusal = std::get<HttpReply>(std::move(result))};
}

TEST(RouterTest, FindsARouteByMethodAndPath) {
  EXPECT_EQ(found(verb::get, "/pages").index, 0);
  EXPECT_EQ(found(verb::post, "/pages").index, 1);
  EXPECT_EQ(found(verb::delete_, "/pages/7").index, 2);
  EXPECT_EQ(found(verb::post, "/pages/7/close").index, 3);
}

TEST(RouterTest, FindsTheRouteOfGetForHead) {
  EXPECT_EQ(found(verb::head, "/pages").index, 0);
  EXPECT_EQ(found(verb::head, "/pages/7").refusal.status, 405U);
}

TEST(RouterTest, RefusesAPathThatNoRouteHasWith404) {
  for (const char* path : {"", "/", "/page", "/pages/"}) {
    const HttpReply refusal = found(verb::put, path).refusal;
    EXPECT_EQ(refusal.status, 404U) << path;
    EXPECT_THAT(refusal.body, HasSubstr("not_found")) << path;
    EXPECT_TRUE(refusal.headers.empty()) << path;
  }
}

constexpr std::array kBasedRoutes = {
    Route{.method = verb::post, .path = "/v1/pages", .handle = nullptr},
    Route{.method = verb::get, .path = "/v1/books/{name}", .handle = nullptr},
    Route{.method = verb::get, .path = "/health", .handle = nullptr},
    Route{.method = verb::get, .path = "/", .handle = nullptr},
};

std::string refusal_of(std::string_view path) {
  auto result = Router(kBasedRoutes).find(verb::post, path);
  return std::get<HttpReply>(std::move(result)).body;
}

TEST(RouterTest, NamesThePathThatAClientMayHaveMeant) {
  for (const auto& [path, meant] : {std::pair("/pages", "/v1/pages"),
                                    {"/books/a/b", "/v1/books/a/b"},
                                    {"/v1/v1/pages", "/v1/pages"},
                                    {"/openai/v1/pages", "/v1/pages"},
                                    {"/v1/health", "/health"}}) {
    EXPECT_THAT(refusal_of(path), HasSubstr(std::string("there is ") + meant + ": ")) << path;
  }
}

TEST(RouterTest, NamesNoOtherPathWhereNoneIsNear) {
  for (const std::string& path : {std::string("/page"), std::string("/v1"), std::string("/v1/page"),
                                  "/" + std::string(300, 'a') + "/v1/pages"}) {
    EXPECT_THAT(refusal_of(path), HasSubstr("\"there is no such path\"")) << path;
  }
}

TEST(RouterTest, RefusesAnotherMethodOfAPathWith405AndThoseThatItHas) {
  const HttpReply refusal = found(verb::put, "/pages").refusal;
  EXPECT_EQ(refusal.status, 405U);
  EXPECT_THAT(refusal.body, HasSubstr("method_not_allowed"));
  EXPECT_THAT(refusal.headers, Contains(Pair("Allow", "GET, POST")));
  EXPECT_THAT(found(verb::get, "/pages/7").refusal.headers, Contains(Pair("Allow", "DELETE")));
}

TEST(RouterTest, AnIdHasNoSlashes) {
  EXPECT_THAT(found(verb::get, "/pages/7/close").refusal.headers, Contains(Pair("Allow", "POST")));
  EXPECT_EQ(found(verb::delete_, "/pages/7/8").refusal.status, 404U);
}

TEST(RouterTest, MatchesAPathAsItIs) {
  EXPECT_TRUE(matches("/v1/models", "/v1/models"));
  EXPECT_TRUE(matches("/", "/"));
  for (const char* path : {"", "/v1/models/", "/v1/model", "/V1/models", "/v1/models/a"}) {
    EXPECT_FALSE(matches("/v1/models", path)) << path;
  }
}

TEST(RouterTest, MatchesAnyNameWhereThePatternHasAHole) {
  constexpr std::string_view kEnd = "/v1/models/{name}";
  EXPECT_EQ(id_in(kEnd, "/v1/models/demo"), "demo");
  EXPECT_EQ(id_in(kEnd, "/v1/models/maker/demo"), "maker/demo");
  EXPECT_TRUE(matches(kEnd, "/v1/models/{name}"));
  EXPECT_FALSE(matches(kEnd, "/v1/models/"));
  EXPECT_FALSE(matches(kEnd, "/v1/models"));
  EXPECT_FALSE(matches(kEnd, "/v1/responses/demo"));

  constexpr std::string_view kMiddle = "/v1/responses/{id}/cancel";
  EXPECT_EQ(id_in(kMiddle, "/v1/responses/resp_1/cancel"), "resp_1");
  EXPECT_FALSE(matches(kMiddle, "/v1/responses//cancel"));
  EXPECT_FALSE(matches(kMiddle, "/v1/responses/cancel"));
  EXPECT_FALSE(matches(kMiddle, "/v1/responses/a/b/cancel"));
  EXPECT_FALSE(matches(kMiddle, "/v1/responses/resp_1"));
  EXPECT_FALSE(matches(kMiddle, "/v1/responses/resp_1/cancel/"));
  EXPECT_EQ(id_in("/v1/models", "/v1/models"), "");
}

}  // namespace
}  // namespace weft
