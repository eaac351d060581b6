#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/net/client/server_url.h"
#include "weft/net/http/net_stream.h"

namespace weft {

/// The token of all that the clients await: `const auto [error, result] = co_await ...`.
inline constexpr auto kAsTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Which server, and how it is met.
struct ClientOptions {
  ServerUrl url{};
  std::string api_key{};           ///< "" = none is shown
  bool verify_certificate = true;  ///< by the system's store, and that it is the host's
};

/// Makes connections to one server. On the context's one thread.
class Connector {
 public:
  /// kBadCertificate when the system's store cannot be read. The context outlives the connector and
  /// its connections.
  [[nodiscard]] static Result<std::shared_ptr<Connector>> create(boost::asio::io_context& context,
                                                                 ClientOptions options);

  using Clock = std::chrono::steady_clock;
  /// For a name, a connection and a handshake: a server that is there takes less than a second.
  static constexpr std::chrono::milliseconds kConnectLimit = std::chrono::seconds(15);

  /// A connection, past TLS's handshake. kCannotConnect with the server and the reason, also when
  /// it is not there at `until`.
  [[nodiscard]] boost::asio::awaitable<Result<NetStream>> connect(
      Clock::time_point until = Clock::time_point::max());

  /// kLost with the server and what happened.
  [[nodiscard]] Error lost(std::string_view what) const;
  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

 private:
  Connector(boost::asio::io_context& context, ClientOptions options);
  [[nodiscard]] Error failed(const boost::system::error_code& error, bool late) const;

  boost::asio::io_context& context_;
  const ClientOptions options_;
  boost::asio::ssl::context tls_;
};

}  // namespace weft
