#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <string>
#include <thread>

namespace weft::bench {

/// A server without an engine, on a free port of this machine. It sends a prepared answer of the
/// requested number of tokens, as fast as its client reads. Each event is sent separately, by a
/// plain send(), from a thread for each connection. It answers completions over SSE, and responses
/// over WebSocket one after the other.
class CannedServer {
 public:
  CannedServer();
  ~CannedServer();
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  [[nodiscard]] std::string url() const;

 private:
  using Socket = boost::asio::ip::tcp::socket;
  void accept();
  static void serve(Socket& socket);

  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::list<Socket> sockets_;
  std::list<std::jthread> threads_;
  std::jthread accepting_;
};

}  // namespace weft::bench
