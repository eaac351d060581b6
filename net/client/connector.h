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

/// The completion token of all asynchronous operations of the clients: `const auto [error, result]
/// = co_await ...`.
inline constexpr auto kAsTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

/// The server, and how to connect to it.
struct ClientOptions {
  ServerUrl url{};
  std::string api_key{};           ///< the key to send; "" = none
  bool verify_certificate = true;  ///< whether to check it against the system's store and the
                                   ///< host's name
};

/// Makes connections to one server. On the context's one thread.
class Connector {
 public:
  /// Returns kBadCertificate when the system's store cannot be read. The context must outlive the
  /// connector and its connections.
  [[nodiscard]] static Result<std::shared_ptr<Connector>> create(boost::asio::io_context& context,
                                                                 ClientOptions options);

  using Clock = std::chrono::steady_clock;
  /// Time for resolving, connecting and a handshake. With a running server they take less than a
  /// second.
  static constexpr std::chrono::milliseconds kConnectLimit = std::chrono::seconds(15);

  /// Makes a connection, including TLS's handshake. kCannotConnect names the server and the reason;
  /// it also comes when there is no connection at `until`.
  [[nodiscard]] boost::asio::awaitable<Result<NetStream>> connect(
      Clock::time_point until = Clock::time_point::max());

  /// Makes a kLost that names the server and what happened.
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
