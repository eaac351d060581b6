#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/net/client/connector.h"

namespace weft {

/// A WebSocket to a server, for text messages. On the connector's thread; it keeps itself alive
/// until it has ended.
class WebSocketClient : public std::enable_shared_from_this<WebSocketClient> {
 public:
  struct Events {
    std::function<void(std::string_view)> on_message;
    /// Called once, after all other events; not after close(). `code` is the server's close code, 0
    /// when it gave none.
    std::function<void(const Error&, std::uint16_t code)> on_end;
  };

  /// `path` is appended to the URL's own.
  WebSocketClient(std::shared_ptr<Connector> connector, std::string path, Events events);

  /// Connects. on_end may get kCannotConnect, kRefused with the server's words, or later kLost.
  void start();
  /// Sends a message, in order. A message that is sent before the connection exists waits for it.
  /// There is no bound here: the caller bounds its requests under way.
  void send(std::string message);
  /// Ends the connection; no events come after it.
  void close();

 private:
  [[nodiscard]] boost::asio::awaitable<void> run();
  [[nodiscard]] boost::asio::awaitable<Result<void>> open();
  [[nodiscard]] boost::asio::awaitable<void> read_all();
  void write_next();
  void end(const Error& error, std::uint16_t code = 0);

  std::shared_ptr<Connector> connector_;
  const std::string path_;
  Events events_;
  std::optional<boost::beast::websocket::stream<NetStream>> socket_;
  boost::beast::flat_buffer input_;
  std::deque<std::string> unsent_;
  bool open_ = false;
  bool writing_ = false;
  bool ended_ = false;
};

}  // namespace weft
