#include "weft/net/service/local_caller.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

namespace http = boost::beast::http;

bool is_local(std::string_view client, std::string_view host, std::string_view other = {}) {
  http::request_header<> header;
  if (!host.empty()) header.set(http::field::host, host);
  if (!other.empty()) header.set(other, "192.0.2.1");
  return is_local_caller(header, client);
}

TEST(LocalCaller, IsOneOfThisMachineThatCallsItSo) {
  for (const char* client : {"127.0.0.1:4711", "::1:4711", "::ffff:127.0.0.1:4711", "unix", ""}) {
    EXPECT_TRUE(is_local(client, "localhost:8080")) << client;
  }
  EXPECT_FALSE(is_local("192.0.2.1:4711", "localhost:8080"));
  EXPECT_FALSE(is_local("nonsense", "localhost"));
  for (const char* host : {"", "LOCALHOST", "127.0.0.1", "127.1.2.3:80", "[::1]:8080", "[::1]"}) {
    EXPECT_TRUE(is_local("127.0.0.1:1", host)) << host;
  }
  for (const char* host : {"weft.example", "localhost.evil.example:8080", "192.0.2.1:8080", "[::2]",
                           "[", "[::1", ":", "backend:80"}) {
    EXPECT_FALSE(is_local("127.0.0.1:1", host)) << host;
  }
}

TEST(LocalCaller, IsNobodyWhomAProxyOrABrowserBrings) {
  for (const char* name :
       {"Origin", "Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Real-IP", "Via"}) {
    EXPECT_FALSE(is_local("127.0.0.1:1", "localhost", name)) << name;
  }
  EXPECT_TRUE(is_local("127.0.0.1:1", "localhost", "User-Agent"));
}

}  // namespace
}  // namespace weft
