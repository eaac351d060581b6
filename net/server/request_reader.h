#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/config/server_config.h"
#include "weft/net/api/fields/api_error.h"
#include "weft/net/service/body_memory.h"

namespace weft {

/// Parses a connection's bytes into requests, one after the other, and enforces the limits: the
/// sizes of header and body, the memory of all bodies, and the time in which they must come. It
/// knows no socket: bytes are put in, and bytes behind a request stay for the next one. Owner only.
///
///   kBetween --a byte--> kHeader --the header is whole--> kBody --take() or drop()--> kBetween
class RequestReader {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Header = boost::beast::http::request_header<>;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

  /// The result of next().
  enum class Found : std::uint8_t {
    kNothing,  ///< more bytes are needed
    kHeader,   ///< header() is complete; next() goes on with the body
    kRequest,  ///< the request is complete, and take() is due
    kError,    ///< nothing more can be read from this connection; error() says why
  };

  /// Both arguments must outlive the reader.
  RequestReader(const ServerConfig& config, BodyMemory& memory);

  /// Returns how many bytes put() may take. It is 0 while a request is answered and further
  /// requests fill the buffer.
  [[nodiscard]] std::size_t room() const noexcept;
  void put(boost::asio::const_buffer bytes);
  /// Whether all bytes were taken.
  [[nodiscard]] bool empty() const noexcept { return input_.size() == 0; }

  /// Reads on. Not to be called between kRequest or kError and take() or drop().
  [[nodiscard]] Found next();
  /// The header; valid from kHeader on, until take() or drop().
  [[nodiscard]] const Header& header() const { return parser_->get().base(); }
  /// Returns the target of a request that is in error (kError); empty where it could not be read.
  [[nodiscard]] const std::string& lost_target() const { return lost_target_; }
  [[nodiscard]] bool keep_alive() const { return parser_->get().keep_alive(); }
  /// Whether an announced body is incomplete.
  [[nodiscard]] bool wants_body() const { return !parser_->is_done(); }
  /// Whether that body is so short that reading it costs less than losing the connection.
  [[nodiscard]] bool wants_short_body() const;
  /// Returns why a readable header is refused; nothing where it is accepted.
  [[nodiscard]] std::optional<ApiError> header_error() const;
  [[nodiscard]] const ApiError& error() const { return *error_; }

  struct Taken {
    Request request;
    BodyMemory::Share memory;  ///< counts the body
  };
  /// Takes the whole request; bytes behind it belong to the next one.
  [[nodiscard]] Taken take();
  /// Drops the request that was being read, and frees memory that an empty buffer does not need.
  void drop();
  /// Drops all input, because the rest of the connection's bytes is not read.
  void drop_all();

  /// When the first byte of this request came.
  [[nodiscard]] Time began() const noexcept { return began_; }
  /// Whether the current request comes more slowly than it must.
  [[nodiscard]] bool is_late(Time now) const;

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class State : std::uint8_t {
    kBetween,  ///< no byte of the next request was looked at
    kHeader,
    kBody,
  };

  void begin();
  void enter(State state);
  [[nodiscard]] Found wait();
  [[nodiscard]] Found refuse(ApiError why);

  const ServerConfig& config_;
  boost::beast::flat_buffer input_;
  State state_ = State::kBetween;
  Time began_{};  // when this state began
  std::optional<Parser> parser_;
  bool folded_ = false;  // a header field continues in another line
  std::size_t body_bytes_ = 0;
  BodyMemory::Share memory_;
  std::optional<ApiError> error_;
  std::string lost_target_;
};

/// Returns the 400 for bytes that are no HTTP request, or a request that may not come here.
[[nodiscard]] ApiError not_an_http_request();

}  // namespace weft
