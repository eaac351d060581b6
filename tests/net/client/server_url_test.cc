#include "weft/net/client/server_url.h"

#include <gmock/gmock.h>

#include "weft/net/net_error.h"

namespace weft {
namespace {

using testing::HasSubstr;

ServerUrl parsed(std::string_view text) {
  const auto url = parse_server_url(text);
  EXPECT_TRUE(url) << to_string(url.error());
  return url ? *url : ServerUrl{};
}

TEST(ServerUrl, TakesEverySchemeThatAServerAnswers) {
  EXPECT_FALSE(parsed("http://host").tls);
  EXPECT_TRUE(parsed("https://host").tls);
  EXPECT_FALSE(parsed("WS://host").tls);
  EXPECT_TRUE(parsed("wss://host").tls);
  EXPECT_TRUE(is_server_url("Http://x"));
  EXPECT_FALSE(is_server_url("http:/x"));
  EXPECT_FALSE(is_server_url("models/demo"));
}

TEST(ServerUrl, KnowsTheSchemesPorts) {
  EXPECT_EQ(parsed("http://host").port, "80");
  EXPECT_EQ(parsed("wss://host").port, "443");
  EXPECT_EQ(parsed("http://host:8080").port, "8080");
  EXPECT_EQ(parsed("http://host").authority(), "host");
  EXPECT_EQ(parsed("https://host:80").authority(), "host:80");
}

TEST(ServerUrl, TakesAddressesOfBothKinds) {
  EXPECT_EQ(parsed("http://127.0.0.1:1").host, "127.0.0.1");
  const ServerUrl six = parsed("http://[::1]:8080/x");
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.port, "8080");
  EXPECT_EQ(six.text(), "http://[::1]:8080/x");
  EXPECT_EQ(parsed("http://[::1]").port, "80");
}

TEST(ServerUrl, TakesAnAddressWithoutASchemeForHttp) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:8080", "my-host.example:80", "host:8080/v1"}) {
    EXPECT_TRUE(is_server_address(text)) << text;
    EXPECT_EQ(parsed(text).text(), parsed("http://" + std::string(text)).text());
    EXPECT_FALSE(parsed(text).tls);
  }
  for (const char* text : {"host", "host:", ":80", "host:0", "host:80x", "C:\\model", "a/b:80",
                           "::1", "models/demo", "http://host:80", "a b:80", "host:65536"}) {
    EXPECT_FALSE(is_server_address(text)) << text;
  }
}

TEST(ServerUrl, LeavesOutWhatEveryPathBeginsWith) {
  EXPECT_EQ(parsed("http://host/").base, "");
  EXPECT_EQ(parsed("http://host/v1").base, "");
  EXPECT_EQ(parsed("http://host/proxy/v1/").base, "/proxy");
  EXPECT_EQ(parsed("http://host/v11").base, "/v11");
}

TEST(ServerUrl, SaysWhatIsWrong) {
  for (const auto& [text, what] : {
           std::pair("host", "begins with none of"),
           {"host:0", "begins with none of"},
           {"ftp://host:80", "begins with none of"},
           {"a b:80", "begins with none of"},
           {"http://", "no host"},
           {"http://:80", "no host"},
           {"http://host:", "a port that is none"},
           {"http://host:0", "a port that is none"},
           {"http://host:65536", "a port that is none"},
           {"http://host:80x", "a port that is none"},
           {"http://[::1", "without its ]"},
           {"http://a b", "a space"},
           {"http://a\r\nX: y", "a control character"},
           {"http://user@host", "more than host, port and path"},
           {"http://host/?a=b", "more than host, port and path"},
       }) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, make_error_code(NetErrc::kBadUrl));
    EXPECT_THAT(url.error().detail, HasSubstr(what));
  }
}

}  // namespace
}  // namespace weft
