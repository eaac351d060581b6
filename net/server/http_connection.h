#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/net/defaults.h"
#include "weft/net/http/net_stream.h"
#include "weft/net/server/http_exchange.h"
#include "weft/net/server/output_buffer.h"
#include "weft/net/server/request_reader.h"
#include "weft/net/service/address_limits.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/service.h"

namespace weft {

/// A client's HTTP/1.1 connection. Requests come one after the other (pipelined ones wait in a
/// bounded buffer), and each is answered by an exchange of its own. The connection moves the bytes
/// between the socket, the RequestReader and the OutputBuffer. It decides how long it lives:
/// keep-alive, drain, close, the upgrade to a WebSocket. A read is nearly always outstanding, so
/// that the end of a client is noticed at once, even while it waits for an answer. Everything
/// happens on its I/O thread. The object lives as long as an operation is outstanding or its thread
/// lists it.
///
///   kHandshake --> kIdle --> kReading --> kAnswering --> kLingering --> kClosed
///                    ^
/// |                   +------ keep-alive ------+
///
/// Plain connections begin in kIdle, an upgrade goes from kAnswering to kClosed, and every state
/// may go to kClosed at once. There is an exchange from the header on: at the end of kReading, and
/// in kAnswering.
class HttpConnection final : public Connection, private Answer::Reader {
 public:
  HttpConnection(IoThread& thread, Service& service, NetStream&& stream, std::string client,
                 ConnectionCount::Place place, std::shared_ptr<AddressPlace> address = nullptr);
  ~HttpConnection() override = default;

  void start();

  void check_time(Time now) override;
  void drain() override;
  void abort() override;

 private:
  enum class State : std::uint8_t {
    kHandshake,  ///< TLS's handshake
    kIdle,       ///< no byte of the next request has come
    kReading,    ///< a request has begun, but is not complete
    kAnswering,
    kLingering,  ///< everything is sent; the client may still be reading
    kClosed,
  };

  void begin();
  void enter(State state);

  // Reading.
  void read();
  /// Takes what else has arrived behind a read that filled its buffer.
  void take_arrived();
  void on_read(boost::system::error_code error, std::size_t bytes);
  void advance();
  [[nodiscard]] bool begin_exchange();

  // Answering.
  void dispatch();
  void start(ApiCall call);
  void start_later(const LaterReply& later);
  void upgrade(RequestReader::Request request);
  void reply(HttpReply made);
  void refuse(const ApiError& why);
  void on_news(Answer& answer) override;
  void take_news();
  void fetch_news();
  void ping_if_quiet(Time now);

  // Writing.
  void write();
  void write_some();
  void on_written(boost::system::error_code error, std::size_t bytes);

  // Ending.
  void finish_exchange();
  void linger();
  [[nodiscard]] bool client_has_left();
  void on_gone();
  void hang_up_on_slow_client();
  void close();
  void on_exception(const std::exception& failure) noexcept override;

  [[nodiscard]] std::shared_ptr<HttpConnection> self() {
    return std::static_pointer_cast<HttpConnection>(shared_from_this());
  }

  IoThread& thread_;
  Service& service_;
  NetStream stream_;
  const std::string client_;
  const std::shared_ptr<AddressPlace> address_;  // null where the requests of addresses are not
                                                 // limited

  State state_ = State::kIdle;
  Time state_began_{};
  std::chrono::milliseconds last_call_ = net_defaults::kLastCall;  // how long an idle connection is
                                                                   // still read while draining

  // An outstanding read has its own buffer, because requests are taken from the reader meanwhile.
  std::array<char, net_defaults::kReadBytes> arriving_;
  bool reading_ = false;  // a read is outstanding; may be so in any state
  RequestReader reader_;

  std::optional<HttpExchange> exchange_;
  std::uint64_t exchanges_ = 0;  // number of exchanges that have ended; a later reply finds its
                                 // exchange by it
  OutputBuffer output_;
};

}  // namespace weft
