#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "weft/cli/chat/answer_router.h"
#include "weft/cli/chat/chat_backend.h"
#include "weft/core/error/error.h"
#include "weft/net/client/connector.h"
#include "weft/net/client/websocket_client.h"
#include "weft/net/service/io_thread.h"

namespace weft::cli {

/// Asks a server over one WebSocket, with a stream for each answer. When the connection is lost its
/// answers fail, and the next answer opens a new connection. When the server refuses a message for
/// its size, no message of that size or more is sent again.
class RemoteChat final : public ChatBackend {
 public:
  /// Called once, on another thread, with the reason for waiting for the server.
  using OnWait = std::function<void(const std::string& why)>;

  /// Waits until the server has loaded its model. `model` is the name in requests; empty: the
  /// server's own model. Errors: of Connector; kRefused when the server wants another key or its
  /// engine has failed.
  [[nodiscard]] static Result<std::unique_ptr<RemoteChat>> connect(const ClientOptions& options,
                                                                   std::string model,
                                                                   AnswerListener& listener,
                                                                   const OnWait& on_wait);
  ~RemoteChat() override;

  [[nodiscard]] std::string description() const override;
  void start(const std::string& id, boost::json::object request) override;
  void cancel(const std::string& id) override;

 private:
  RemoteChat(std::string model, AnswerListener& listener);
  [[nodiscard]] WebSocketClient& socket();
  void on_end(const Error& error, std::uint16_t code);

  const std::string model_;
  std::string served_;  // the name that the server gives its model
  AnswerRouter router_;
  // the smallest size of a message that was refused
  std::size_t too_large_ = std::numeric_limits<std::size_t>::max();
  IoThread thread_;
  std::shared_ptr<Connector> connector_;
  std::shared_ptr<WebSocketClient> socket_;  // null: not connected
};

}  // namespace weft::cli
