#include "weft/net/http/host_names.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(HostNamesTest, TheNameIsWhatStandsBeforeThePort) {
  EXPECT_EQ(name_in_host("weft:8080"), "weft");
  EXPECT_EQ(name_in_host("weft"), "weft");
  EXPECT_EQ(name_in_host("[::1]:8080"), "::1");
  EXPECT_EQ(name_in_host("[::1"), "");
  EXPECT_EQ(name_in_host(""), "");
}

TEST(HostNamesTest, LoopbackIsAnAddressOfThisMachineAlone) {
  for (const char* text : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback_address(text)) << text;
  }
  for (const char* text : {"", "localhost", "0.0.0.0", "192.0.2.1", "::", "::ffff:192.0.2.1"}) {
    EXPECT_FALSE(is_loopback_address(text)) << text;
  }
}

TEST(HostNamesTest, AnAddressAndANameOfThisMachineAreTheServersOwn) {
  for (const char* host : {"127.0.0.1:8080", "[::1]:8080", "192.0.2.1", "localhost", "LocalHost:80",
                           "localhost.:80", "chat.localhost:8080"}) {
    EXPECT_TRUE(is_own_host(host, "")) << host;
  }
}

TEST(HostNamesTest, AnyOtherNameIsNotUnlessItIsListed) {
  for (const char* host :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
        "notlocalhost", ".localhost", "[evil]", ":80", "weft.lan.evil.example"}) {
    EXPECT_FALSE(is_own_host(host, "")) << host;
    EXPECT_FALSE(is_own_host(host, "weft.lan, chat.lan")) << host;
  }
  EXPECT_TRUE(is_own_host("CHAT.lan:8080", "weft.lan, chat.lan"));
  EXPECT_TRUE(is_own_host("evil.example", "*"));
}

}  // namespace
}  // namespace weft
