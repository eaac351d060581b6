#include "weft/net/client/connector.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "weft/net/client/deadline.h"
#include "weft/net/http/tls_stream.h"
#include "weft/net/net_error.h"

namespace weft {

namespace asio = boost::asio;

namespace {}  // namespace

Connector::Connector(asio::io_context& context, ClientOptions options)
    : context_(context), options_(std::move(options)), tls_(asio::ssl::context::tls_client) {}

Result<std::shared_ptr<Connector>> Connector::create(asio::io_context& context,
                                                     ClientOptions options) {
  std::shared_ptr<Connector> connector(new Connector(context, std::move(options)));
  boost::system::error_code error;
  error = connector->tls_.set_default_verify_paths(error);
  if (error) return Error{NetErrc::kBadCertificate, "the system's store: " + error.message()};
  const bool verify = connector->options_.verify_certificate;
  error = connector->tls_.set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none,
                                          error);
  if (error) return Error{NetErrc::kBadCertificate, error.message()};
  return connector;
}

asio::awaitable<Result<NetStream>> Connector::connect(Clock::time_point until) {
  using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
  asio::ip::tcp::resolver resolver(context_);
  Socket socket(context_);
  std::optional<NetStream> stream;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  const Deadline deadline(context_.get_executor(), std::min(left, kConnectLimit), [&] {
    resolver.cancel();
    boost::system::error_code ignored;
    ignored = socket.close(ignored);
    if (stream) stream->close();
  });
  const auto [not_found, places] =
      co_await resolver.async_resolve(options_.url.host, options_.url.port, kAsTuple);
  if (not_found) co_return failed(not_found, deadline.expired());
  const auto [refused, place] = co_await asio::async_connect(socket, places, kAsTuple);
  if (refused) co_return failed(refused, deadline.expired());
  boost::system::error_code ignored;
  ignored = socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (!options_.url.tls) co_return NetStream(std::move(socket));
  stream.emplace(std::move(socket), tls_);
  const std::string& host = options_.url.host;
  asio::ip::make_address(host, ignored);
  // SNI tells a server with several names which one is meant; an address is no name.
  if (ignored) SSL_set_tlsext_host_name(stream->tls()->native_handle(), host.c_str());
  if (options_.verify_certificate) {
    ignored = stream->tls()->set_verify_callback(asio::ssl::host_name_verification(host), ignored);
  }
  const auto [distrusted] =
      co_await stream->async_handshake(asio::ssl::stream_base::client, kAsTuple);
  if (distrusted) co_return failed(distrusted, deadline.expired());
  co_return *std::move(stream);
}

Error Connector::failed(const boost::system::error_code& error, bool late) const {
  return {NetErrc::kCannotConnect,
          options_.url.text() + ": " + (late ? "no answer in time" : error.message())};
}

Error Connector::lost(std::string_view what) const {
  return {NetErrc::kLost, options_.url.text() + ": " + std::string(what)};
}

}  // namespace weft
