// Clients against the real server, under TLS with a certificate that is made here.

#include "weft/net/client/connector.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "weft/net/client/http_client.h"
#include "weft/net/net_error.h"
#include "weft/net/server/server.h"
#include "weft/tests/fixture/certificate.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft {
namespace {

using testing::HasSubstr;

class ConnectorTest : public testing::Test {
 protected:
  void start(ServerConfig config) {
    config.port = 0;
    constexpr auto kFormat = RequestLog::Format::kText;
    auto log = std::make_shared<RequestLog>(make_stderr_logger(kFormat, "off"), kFormat, false);
    server_ = Server::create(config, std::move(log)).value();
  }
  void start_tls(ServerConfig config = {}) {
    const std::string certificate = (folder_.path() / "certificate.pem").string();
    const std::string key = (folder_.path() / "key.pem").string();
    test::write_certificate(certificate, key, "localhost");
    config.tls_certificate = certificate;
    config.tls_key = key;
    start(std::move(config));
  }
  /// Returns the answer to a GET.
  Result<HttpAnswer> ask(const std::string& origin, bool verify, const std::string& path = "/live",
                         const std::string& key = {}) {
    const std::string url = origin + ":" + std::to_string(server_->port());
    return ask({.url = parse_server_url(url).value(), .api_key = key, .verify_certificate = verify},
               path, std::chrono::seconds(30));
  }
  static Result<HttpAnswer> ask(const ClientOptions& options, const std::string& path,
                                std::chrono::milliseconds limit) {
    boost::asio::io_context context;
    auto connector = Connector::create(context, options);
    if (!connector) return connector.error();
    HttpClient client(*connector);
    std::optional<Result<HttpAnswer>> answer;
    boost::asio::co_spawn(context, client.ask(path, {}, limit),
                          [&answer](const std::exception_ptr& failure, Result<HttpAnswer> got) {
                            if (failure) std::rethrow_exception(failure);
                            answer.emplace(std::move(got));
                          });
    context.run();
    return *std::move(answer);
  }

  const test::TempFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(ConnectorTest, TrustsNobodyWhoIsNotInTheSystemsStore) {
  start_tls();
  const auto answer = ask("https://localhost", true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, make_error_code(NetErrc::kCannotConnect));
  EXPECT_THAT(answer.error().detail, HasSubstr("certificate verify failed"));
}

TEST_F(ConnectorTest, TakesAnyCertificateWhenToldTo) {
  start_tls();
  const auto answer = ask("https://localhost", false);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->status, 200U);
}

TEST_F(ConnectorTest, WhoNeverShakesHandsDoesNotKeepAServerThatDrains) {
  start_tls({.header_timeout = std::chrono::hours(1)});
  const test::PlainClient silent(server_->port());
  EXPECT_TRUE(test::eventually([&] { return server_->connections() == 1; }));
  server_->drain();
  EXPECT_TRUE(test::eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ConnectorTest, TrustsWhoIsInTheSystemsStoreByThatNameAlone) {
  start_tls();
  ::setenv("SSL_CERT_FILE", (folder_.path() / "certificate.pem").c_str(), 1);
  const auto by_name = ask("https://localhost", true);
  const auto by_address = ask("https://127.0.0.1", true);
  ::unsetenv("SSL_CERT_FILE");
  ASSERT_TRUE(by_name) << to_string(by_name.error());
  ASSERT_FALSE(by_address) << "the certificate is not that of an address";
  EXPECT_THAT(by_address.error().detail, HasSubstr("certificate verify failed"));
}

TEST_F(ConnectorTest, TellsAServerWithoutTlsFromOneWithIt) {
  start({});
  const auto answer = ask("https://127.0.0.1", true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, make_error_code(NetErrc::kCannotConnect));
}

TEST_F(ConnectorTest, WaitsForAServerThatSaysNothingNoLongerThanItIsTold) {
  boost::asio::io_context context;
  const boost::asio::ip::tcp::acceptor silent(context,
                                              {boost::asio::ip::make_address("127.0.0.1"), 0});
  const std::string url = "https://127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  const auto began = std::chrono::steady_clock::now();
  const auto answer =
      ask({.url = parse_server_url(url).value()}, "/live", std::chrono::milliseconds(50));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, make_error_code(NetErrc::kCannotConnect));
  EXPECT_THAT(answer.error().detail, HasSubstr("no answer in time"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, Connector::kConnectLimit);
}

TEST_F(ConnectorTest, ReadsStatusRequestIdAndRetryAfter) {
  start({});
  const auto answer = ask("http://127.0.0.1", true, "/health");
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->status, 503U);
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(5));
  EXPECT_THAT(answer->request_id, testing::StartsWith("req_"));
}

TEST_F(ConnectorTest, ShowsItsKey) {
  start({.api_key = "right"});
  EXPECT_EQ(ask("http://127.0.0.1", true, "/version", "wrong")->status, 401U);
  EXPECT_EQ(ask("http://127.0.0.1", true, "/version", "right")->status, 200U);
}

}  // namespace
}  // namespace weft
