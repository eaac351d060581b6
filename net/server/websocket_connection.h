#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/net/http/net_stream.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/response_session.h"
#include "weft/net/service/service.h"

namespace weft {

/// A client's WebSocket at /v1/responses. It reads messages into a ResponseSession and writes its
/// events, one message at a time. Output that comes while a message is being sent collects, and
/// goes out as one event. Pings show whether an idle client is still there, and keep proxies from
/// ending a connection whose responses wait. Messages without TLS and compression bypass Beast
/// where the socket has room, which is nearly always. On its I/O thread.
class WebSocketConnection final : public Connection {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

  WebSocketConnection(IoThread& thread, Service& service, NetStream stream,
                      ResponseSession::Client client, ConnectionCount::Place place);
  ~WebSocketConnection() override = default;

  /// Answers the upgrade and runs the connection.
  void start(Request upgrade);

  void check_time(Time now) override;
  void drain() override;
  void abort() override;

 private:
  void on_exception(const std::exception& failure) noexcept override;

  void accept(Request upgrade);
  void read();
  void on_read(boost::system::error_code error, std::size_t bytes);
  void pump();
  void send_now(const EventBatch& batch);
  void send_frames(std::string_view frames);
  void ping_if_quiet(Time now);
  void write_next();
  void on_written(boost::system::error_code error);
  void on_sent(boost::system::error_code error);
  /// Called when the closing handshake has begun: cancels the running responses.
  void leave();
  /// Closes with this code and reason, once the current write is done.
  void say_goodbye(boost::beast::websocket::close_code code, std::string_view reason);
  /// Sends a close frame if that is possible at once, and ends without waiting for the client.
  void hang_up(boost::beast::websocket::close_code code, std::string_view reason, EndCause cause);
  void end(EndCause cause);
  [[nodiscard]] std::shared_ptr<WebSocketConnection> self() {
    return std::static_pointer_cast<WebSocketConnection>(shared_from_this());
  }

  IoThread& thread_;
  Service& service_;
  boost::beast::websocket::stream<NetStream> socket_;
  ResponseSession session_;
  boost::beast::flat_buffer input_;
  BodyMemory::Share body_memory_;          // counts the bytes in input_
  EventBatch batch_{Framing::kWebSocket};  // has bytes only while they are being written
  std::size_t message_ = 0;                // index of the batch's message that is being written
  bool reading_ = false;
  bool writing_ = false;
  bool pinging_ = false;   // Beast is writing a ping
  bool accepted_ = false;  // the handshake is done
  bool leaving_ = false;   // a close frame is on its way, or has been
  bool ended_ = false;
  Time progress_{};               // when the client last took a byte, or leaving began
  std::uint64_t sent_bytes_ = 0;  // bytes sent until progress_
  Time quiet_since_{};            // when the last byte was sent, or when responses began to run
};

}  // namespace weft
