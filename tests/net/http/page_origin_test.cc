#include "weft/net/http/page_origin.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weft {
namespace {

/// The header of a request to "weft:8080" for a page of this origin.
boost::beast::http::request_header<> page_request(std::string_view origin,
                                                  std::string_view host = "weft:8080") {
  boost::beast::http::request_header<> header;
  header.set("Host", host);
  if (!origin.empty()) header.set("Origin", origin);
  return header;
}

bool is_foreign(std::string_view origin, std::string_view cors_origins = "",
                std::string_view host = "weft:8080") {
  return is_for_foreign_page(page_request(origin, host), cors_origins);
}

TEST(PageOriginTest, AProgramAndTheServersOwnPageAreNotForeign) {
  EXPECT_FALSE(is_foreign(""));
  EXPECT_FALSE(is_foreign("http://weft:8080"));
  EXPECT_FALSE(is_foreign("https://WEFT:8080"));
}

TEST(PageOriginTest, APageOfAnotherOriginIsForeignUnlessItIsListed) {
  for (const std::string_view origin :
       {"http://weft", "http://weft:80", "http://other:8080", "http://weft.example:8080", "null",
        "weft:8080", "http://", "http://weft:8080.example"}) {
    EXPECT_TRUE(is_foreign(origin)) << origin;
    EXPECT_TRUE(is_foreign(origin, "https://a")) << origin;
    EXPECT_FALSE(is_foreign(origin, "*")) << origin;
  }
  EXPECT_FALSE(is_foreign("https://b", "https://a, https://b"));
}

TEST(PageOriginTest, NamesAreComparedWhereAProxyHasLeftOutThePort) {
  EXPECT_FALSE(is_foreign("http://weft:8080", "", "weft"));
  EXPECT_TRUE(is_foreign("http://weft:8080", "", "other"));
  EXPECT_FALSE(is_foreign("http://[::1]:8080", "", "[::1]"));
  EXPECT_TRUE(is_foreign("http://[::1]:8080", "", "[::1]:8081"));
  EXPECT_TRUE(is_foreign("http://", "", ""));
}

TEST(PageOriginTest, TheBrowserKnowsWhatAProxyThatRenamesTheServerHides) {
  auto header = page_request("https://chat.example", "127.0.0.1:8080");
  EXPECT_TRUE(is_for_foreign_page(header, ""));
  header.set("Sec-Fetch-Site", "same-site");
  EXPECT_TRUE(is_for_foreign_page(header, ""));
  header.set("Sec-Fetch-Site", "same-origin");
  EXPECT_FALSE(is_for_foreign_page(header, ""));
}

TEST(PageOriginTest, AStarDoesNotLendThePasswordThatABrowserKeeps) {
  auto header = page_request("https://evil.example");
  header.set("Authorization", "Bearer key");
  EXPECT_FALSE(is_for_foreign_page(header, "*"));
  header.set("Authorization", "Basic a2V5Og==");
  EXPECT_TRUE(is_for_foreign_page(header, "*"));
  EXPECT_FALSE(is_for_foreign_page(header, "https://evil.example"));
}

}  // namespace
}  // namespace weft
