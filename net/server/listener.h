#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/net/http/net_stream.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/service.h"

namespace weft {

/// Accepts connections at one address and gives them to the I/O threads in turn. At the server's
/// bound of connections it stops accepting, and further connections wait in the system. On the
/// first I/O thread; stop() from any other.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  using Threads = std::vector<std::unique_ptr<IoThread>>;
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;

  /// `tls` is null for plain connections. All arguments must outlive the listener.
  Listener(Threads& threads, ConnectionCount& connections, Service& service,
           boost::asio::ssl::context* tls);

  /// Binds and listens. kCannotListen with address and reason.
  [[nodiscard]] Result<void> open(const Endpoint& endpoint, const std::string& name);
  void start();
  /// Accepts the connections that were made so far, even beyond the bound. Then it stops accepting
  /// and removes a Unix socket's file. Returns when each accepted connection is with its I/O
  /// thread. Not on an I/O thread.
  void stop();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol,
                                                      boost::asio::io_context::executor_type>;
  void accept();
  void on_accept(boost::system::error_code error, NetStream::Socket socket, IoThread& thread);
  void serve(NetStream::Socket socket, IoThread& thread);
  void accept_waiting();
  void pause();

  Threads& threads_;
  ConnectionCount& connections_;
  Service& service_;
  boost::asio::ssl::context* const tls_;
  Acceptor acceptor_;
  boost::asio::steady_timer again_;
  std::string unix_path_;
  std::uint16_t port_ = 0;
  std::size_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace weft
