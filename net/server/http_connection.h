#pragma once

#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/net/defaults.h"
#include "weft/net/http/net_stream.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/service.h"

namespace weft {

/// A client's HTTP/1.1 connection: requests one after the other (pipelined ones wait in a bounded
/// buffer), each answered with a body or with server-sent events. A read is nearly always
/// outstanding, so a client that goes away is noticed at once, also while it waits for an answer.
/// Everything happens on its I/O thread. The object lives as long as an operation is outstanding or
/// its thread lists it.
class HttpConnection final : public Connection, private Answer::Reader {
 public:
  HttpConnection(IoThread& thread, Service& service, NetStream&& stream, std::string client,
                 ConnectionCount::Place place);
  ~HttpConnection() override;

  void start();

  void check_time(Time now) override;
  void drain() override;
  void abort() override;

 private:
  void on_exception(const std::exception& failure) noexcept override;

  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  enum class Phase : std::uint8_t {
    kHandshake,  ///< of TLS
    kIdle,       ///< nothing of the next request is there
    kHeader,
    kBody,
    kAnswering,
    kLingering,  ///< all is said; the client may still be reading
    kClosed,
  };

  void begin();
  void enter(Phase phase);
  void read();
  void on_read(boost::system::error_code error, std::size_t bytes);
  void advance();
  [[nodiscard]] bool parse(boost::system::error_code& error);
  [[nodiscard]] bool check_header();
  void refuse(boost::system::error_code error);
  void refuse_body();
  void dispatch();
  void start_answer(ApiCall call);
  void start_later(const LaterReply& later);
  void upgrade(Request request);
  void on_news(Answer& answer) override;
  void take_news(Answer& answer);
  void pump();
  void pump_events(std::string_view news);

  void reply(HttpReply made);
  void begin_stream();
  void write();
  void write_some();
  void on_written(boost::system::error_code error, std::size_t bytes);
  void finish_exchange();
  void linger();
  [[nodiscard]] bool client_has_left();
  void on_gone();
  void close();
  void log_exchange();
  [[nodiscard]] std::shared_ptr<HttpConnection> self() {
    return std::static_pointer_cast<HttpConnection>(shared_from_this());
  }

  IoThread& thread_;
  Service& service_;
  NetStream stream_;
  const std::string client_;

  // What is outstanding reads into a place of its own: requests are taken out of input_ meanwhile.
  std::array<char, net_defaults::kReadBytes> arriving_;
  boost::beast::flat_buffer input_;
  bool reading_ = false;
  std::optional<Parser> parser_;
  bool header_checked_ = false;
  Phase phase_ = Phase::kIdle;
  Time phase_began_{};
  std::size_t body_bytes_ = 0;
  BodyMemory::Share body_memory_;

  /// The request that is being answered.
  struct Exchange {
    Time began{};
    std::string method{};
    std::string path{};
    std::string request_id{};
    std::string logged_body{};
    Service::Admission admission{};
    std::vector<std::pair<std::string, std::string>> headers{};
    KeyLease lease{};
    RunningAnswers::Place place{};
    std::shared_ptr<Answer> answer{};
    unsigned status = 0;
    std::string error{};
    bool streaming = false;  ///< its head has been written
    bool complete = false;   ///< nothing is to be written after what is being written
    bool keep_alive = true;
    bool http10 = false;
    bool head = false;  ///< the method: the answer has no body
  };
  Exchange exchange_;
  std::uint64_t exchanges_ = 0;

  std::string output_;   // what is to be written next
  std::string sending_;  // what is being written
  std::size_t written_ = 0;
  bool writing_ = false;
  Time progress_{};
};

}  // namespace weft
