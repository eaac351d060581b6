// A page of another site can do nothing through a browser on the server's machine.

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "weft/net/routes/routes.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kForeign = "Origin: http://evil.example\r\n";
constexpr std::string_view kPlainText = "Content-Type: text/plain\r\n";
constexpr std::string_view kSocket =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

class ForeignPagesTest : public ServedPipeline {
 public:
  std::string ask(const std::string& what, std::string_view host, std::string_view headers = {},
                  std::string_view body = {}) const {
    PlainClient one = client();
    one.say(what + " HTTP/1.1\r\nHost: " + std::string(host) +
            "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(headers) +
            "\r\n" + std::string(body));
    return one.read_answer();
  }
};

TEST_F(ForeignPagesTest, AnythingButTheProbesIsRefusedToAnotherOrigin) {
  start();
  for (const Route& route : all_routes()) {
    std::string path(route.path);
    const auto hole = path.find('{');
    if (hole != std::string::npos) path.replace(hole, path.find('}') + 1 - hole, "a");
    const std::string what = std::string(to_string(route.method)) + " " + path;
    const std::string answer = ask(what, "localhost", kForeign);
    if (route.guarded) {
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 403")) << what;
    } else {
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 200")) << what;
    }
  }
}

TEST_F(ForeignPagesTest, EachApiSaysSoInItsOwnForm) {
  start();
  EXPECT_THAT(ask("POST /v1/chat/completions", "localhost", kForeign),
              AllOf(HasSubstr(R"({"error":{"message":)"), HasSubstr("origin_not_allowed")));
  EXPECT_THAT(ask("POST /v1/messages", "localhost", kForeign),
              AllOf(HasSubstr("permission_error"), HasSubstr("origin_not_allowed")));
  EXPECT_THAT(ask("POST /api/chat", "localhost", kForeign), HasSubstr(R"({"error":"pages of)"));
  EXPECT_THAT(ask("POST /v1/messages", "evil.example"), HasSubstr("host_not_allowed"));
}

TEST_F(ForeignPagesTest, APlainTextThatNeedsNoPreflightIsRefused) {
  start();
  const std::string headers = std::string(kForeign).append(kPlainText);
  EXPECT_THAT(ask("POST /v1/completions", "localhost", headers, kThreeTokens),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("origin_not_allowed")));
  EXPECT_THAT(ask("POST /v1/completions", "localhost", kPlainText, kThreeTokens),
              StartsWith("HTTP/1.1 200"));
  const std::string same = "Origin: http://localhost:" + std::to_string(server->port()) + "\r\n";
  EXPECT_THAT(ask("POST /v1/completions", "localhost:" + std::to_string(server->port()), same,
                  kThreeTokens),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ForeignPagesTest, AnOriginOfTheListMayAsk) {
  server_config.cors_origins = "http://evil.example";
  start();
  EXPECT_THAT(ask("POST /v1/completions", "localhost", kForeign, kThreeTokens),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ForeignPagesTest, ASiteWhoseNameIsPointedAtThisMachineIsRefused) {
  server_config.host_names = "";
  start();
  const std::string rebound = "evil.example:" + std::to_string(server->port());
  const std::string origin = "Origin: http://" + rebound + "\r\n";
  EXPECT_THAT(ask("POST /v1/completions", rebound, origin, kThreeTokens),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("host_not_allowed"),
                    HasSubstr("server.host_names")));
  EXPECT_THAT(ask("GET /requests", rebound), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("GET /v1/responses", rebound, origin + std::string(kSocket)),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("GET /health", rebound), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /requests", "app.localhost:1"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ForeignPagesTest, ANameOfTheConfigurationIsTheServers) {
  server_config.host_names = "weft.lan, evil.example";
  start();
  EXPECT_THAT(ask("GET /requests", "evil.example"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /requests", "other.example"), StartsWith("HTTP/1.1 403"));
}

TEST_F(ForeignPagesTest, AServerThatOthersReachHasNamesThatItDoesNotKnow) {
  server_config.host = "0.0.0.0";
  start();
  EXPECT_THAT(ask("GET /requests", "weft.example"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ForeignPagesTest, WithKeysAnyNameWillDoSinceABrowserShowsNoKeyToAnotherSite) {
  server_config.api_key = "sesame";
  start();
  EXPECT_THAT(ask("GET /requests", "weft.example"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET /requests", "weft.example", "X-Api-Key: sesame\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ForeignPagesTest, ThePasswordThatABrowserKeepsDoesNotUnloadAModelForAnotherSite) {
  const TempFolder folder;
  const auto file =
      folder.write("keys.toml", "[[key]]\nname = 'admin'\nkey = 'sesame'\nadmin = true\n");
  server_config.api_key_file = file.string();
  start();
  const std::string basic = "Authorization: Basic OnNlc2FtZQ==\r\n";  // ":sesame"
  const std::string foreign = std::string(kForeign).append(kPlainText).append(basic);
  for (const char* what : {"POST /v1/models/unload", "POST /v1/models/load"}) {
    EXPECT_THAT(ask(what, "localhost", foreign, R"({"model":"tiny"})"),
                AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("origin_not_allowed")));
  }
  EXPECT_THAT(ask("GET /requests", "localhost", basic), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace weft::test
