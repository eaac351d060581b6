#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/error_shape.h"
#include "weft/net/http/http_reply.h"
#include "weft/net/service/address_limits.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/large_body.h"
#include "weft/net/service/service.h"

namespace weft {

/// The way of one request from its header to the last byte of its answer, and to its line in the
/// log. The answer is a reply or a stream of events. The exchange appends bytes and knows no
/// socket: its connection sends them, and asks for more when they are out. On its connection's
/// thread.
///
///   kMaking --append_reply()--> kSaid
///      |                          ^
///      +-append_news()-> kStreaming
///        or append_ping()
///
/// Each state may be the last: an exchange that is destroyed abandons its answer.
class HttpExchange {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Header = boost::beast::http::request_header<>;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  enum class State : std::uint8_t {
    kMaking,     ///< the body comes, or the answer is being made: nothing is appended yet
    kStreaming,  ///< the head of a stream is appended, and events follow
    kSaid,       ///< the last byte is appended
  };

  /// Begins the exchange of a request whose header can be read. `client` is its address. All
  /// arguments but the header must outlive the exchange.
  HttpExchange(Service& service, const std::string& client, const Header& header, bool keep_alive);
  /// Begins the exchange of a request whose header cannot be read, so it can only be refused.
  /// `target` may be known; its first byte came at `began`.
  HttpExchange(Service& service, const std::string& client, std::string_view target, Time began);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;
  ~HttpExchange();

  /// Decides by the header alone, and by the limits of the client's address (null: none). Returns
  /// true unless the request is refused.
  [[nodiscard]] bool admit(const Header& header, AddressPlace* address = nullptr);
  /// Returns the refusal of a request whose body is not read.
  [[nodiscard]] HttpReply take_refusal() { return *std::move(refusal_); }
  /// Returns the handler's result for the whole request, or the refusal of a request that is not
  /// admitted. `memory` counts its body. Takes both arguments where the body is too large for the
  /// I/O thread.
  [[nodiscard]] RouteResult handle(Request& request, BodyMemory::Share& memory);
  /// Submits the call. `reader` is notified of news, which append_news() fetches. Returns an error
  /// when the key may not have another request.
  [[nodiscard]] std::optional<ApiError> start(ApiCall call, IoThread& thread,
                                              Answer::Reader& reader);

  /// Submits a call that is answered in the background, and returns the reply for now.
  [[nodiscard]] HttpReply start_in_background(ApiCall call, IoThread& thread);

  /// Appends the whole answer.
  void append_reply(HttpReply reply, std::string& out);
  /// Appends the new output of the started answer: events, a whole reply, or nothing yet. Not in
  /// kSaid.
  void append_news(std::string& out);
  /// Appends a ping to the started answer where it is a stream. The stream's head comes first if
  /// nothing was appended before.
  void append_ping(std::string& out);

  [[nodiscard]] State state() const noexcept { return state_; }
  /// Whether an answer was started, so that there may be news.
  [[nodiscard]] bool started() const noexcept { return answer_ != nullptr; }
  /// Whether the connection stays open after this exchange, as the answer's head says. It is false
  /// once the service drains, even before the connections' threads learn of the drain.
  [[nodiscard]] bool keep_alive() const noexcept { return keep_alive_; }
  [[nodiscard]] bool is_http10() const noexcept { return http10_; }
  [[nodiscard]] const std::shared_ptr<KeyHolder>& key() const noexcept { return admission_.key; }
  /// Whether a stream has more text than a client may leave unread.
  [[nodiscard]] bool leaves_too_much_unread() const noexcept;

  /// Notes that the client has gone before its answer was complete.
  void lose_client();
  /// Notes that the client reads too slowly, and asks the engine to end its requests.
  void lose_slow_client();
  /// Asks the engine to end what still runs, and writes the log line of an answer that is started
  /// or said.
  void break_off();
  /// Writes the line in the log.
  void log();

 private:
  /// Keeps the refusal of a request that is not admitted; returns false.
  bool refuse(const Header& header, HttpReply refusal);
  void append_events(std::string_view news, std::string& out);
  void begin_stream(std::string& out);
  /// Names the schema places that are not enforced, in a header and in the log.
  void add_warning();
  void append_head_of(unsigned status, std::string_view content_type,
                      const std::vector<std::pair<std::string, std::string>>& headers,
                      const std::size_t* length, std::string& out) const;

  Service& service_;
  const std::string& client_;

  // The request.
  const Time began_;
  std::string method_;
  std::string path_;
  std::string request_id_;
  std::string logged_body_;
  std::size_t decoded_bytes_ = 0;          // size of a body that is decoded for the model
  std::shared_ptr<LargeBody> large_body_;  // a body that a worker decodes
  Service::Admission admission_;
  std::optional<HttpReply> refusal_;
  ErrorShape error_shape_ = ErrorShape::kOpenAi;  // chosen by the path
  bool http10_ = false;
  bool is_head_ = false;  // the method is HEAD, so the answer has no body

  // The answer.
  State state_ = State::kMaking;
  std::vector<std::pair<std::string, std::string>> headers_;  // headers of every reply to this
                                                              // request
  bool keep_alive_ = true;
  KeyLease lease_;
  RunningAnswers::Place place_;
  std::shared_ptr<Answer> answer_;
  unsigned status_ = 0;  // 0 = nothing was sent
  std::string error_;    // the error's code, for the log
  std::string warning_;  // the warning, for the log
};

}  // namespace weft
