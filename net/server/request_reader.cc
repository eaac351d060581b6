#include "weft/net/server/request_reader.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <iterator>
#include <string_view>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/service/service.h"

namespace weft {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

namespace {

ApiError header_too_large() {
  return {.status = 431, .code = "header_too_large", .message = "the header is too large"};
}

/// Returns the answer to a request that cannot be read.
ApiError answer_to(boost::system::error_code error) {
  if (error == http::error::header_limit) return header_too_large();
  if (error == http::error::body_limit) {
    return {.status = 413, .code = "body_too_large", .message = "the body is too large"};
  }
  return not_an_http_request();
}

/// Whether another HTTP reader may find the body's end elsewhere (RFC 9112, 6.1 and 6.3). Beast
/// reads some of these encodings as no body at all, and several equal lengths as one.
bool has_doubtful_end(const RequestReader::Header& header) {
  const auto lengths = header.count(http::field::content_length);
  const std::string_view length = header[http::field::content_length];
  if (lengths > 1 || length.find_first_not_of("0123456789") != std::string_view::npos) return true;
  const auto encodings = header.count(http::field::transfer_encoding);
  if (encodings == 0) return false;
  return header.version() < 11 || encodings > 1 ||
         !boost::beast::iequals(header[http::field::transfer_encoding], "chunked");
}

/// Whether another HTTP reader may see another host or target, because readers differ on bytes
/// beyond ASCII. A host has the characters of RFC 3986, section 3.2.2, and a port.
bool has_doubtful_address(const RequestReader::Header& header) {
  constexpr std::string_view kOfHosts =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=:[]";
  const auto hosts = header.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && header.version() >= 11)) return true;
  const std::string_view host = header[http::field::host];
  const std::string_view target = header.target();
  return host.find_first_not_of(kOfHosts) != std::string_view::npos ||
         std::ranges::any_of(target, [](char c) { return static_cast<unsigned char>(c) > 0x7F; });
}

/// Whether a header field continues in the next line (obs-fold). Beast replaces the line end by a
/// space, other readers do not (RFC 9112, section 5.2).
bool has_folds(std::string_view header) {
  return header.find("\n ") != std::string_view::npos ||
         header.find("\n\t") != std::string_view::npos;
}

}  // namespace

RequestReader::RequestReader(const ServerConfig& config, BodyMemory& memory)
    : config_(config), input_(net_defaults::kReadAhead), memory_(memory) {}

std::size_t RequestReader::room() const noexcept {
  return net_defaults::kReadAhead - input_.size();
}

void RequestReader::put(boost::asio::const_buffer bytes) {
  input_.commit(boost::asio::buffer_copy(input_.prepare(bytes.size()), bytes));
}

RequestReader::Found RequestReader::next() {
  if (state_ == State::kBetween && empty()) return Found::kNothing;
  if (state_ == State::kBetween) begin();
  while (!parser_->is_done()) {
    boost::system::error_code error;
    const std::size_t taken = empty() ? 0 : parser_->put(input_.data(), error);
    if (state_ == State::kHeader) {
      const auto bytes = input_.data();
      folded_ |= has_folds({static_cast<const char*>(bytes.data()), taken});
    }
    input_.consume(taken);
    if (state_ == State::kBody) {
      body_bytes_ += taken;
      if (!memory_.grow(taken)) return refuse(Service::no_body_memory());
    }
    const bool more = error == http::error::need_more;
    if (error && !more) return refuse(answer_to(error));
    if (more && taken == 0) return wait();
    if (state_ == State::kHeader && parser_->is_header_done()) {
      enter(State::kBody);
      return Found::kHeader;
    }
    if (taken == 0) return wait();
  }
  return Found::kRequest;
}

void RequestReader::begin() {
  enter(State::kHeader);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(config_.max_header_bytes));
  parser_->body_limit(static_cast<std::uint64_t>(config_.max_body_bytes));
  folded_ = false;
  body_bytes_ = 0;
  memory_.clear();
}

void RequestReader::enter(State state) {
  state_ = state;
  began_ = steady_clock::now();
}

RequestReader::Found RequestReader::wait() {
  // The buffer is full of trailers or of a chunk's extensions, because all other bytes are taken
  // out as they come.
  if (room() == 0) return refuse(header_too_large());
  return Found::kNothing;
}

RequestReader::Found RequestReader::refuse(ApiError why) {
  error_ = std::move(why);
  lost_target_ = parser_->get().target();
  parser_.reset();  // frees the memory of the part of the body that has come
  memory_.clear();
  return Found::kError;
}

std::optional<ApiError> RequestReader::header_error() const {
  const auto fields = std::distance(header().begin(), header().end());
  if (fields > config_.max_header_fields) return header_too_large();
  if (folded_ || has_doubtful_address(header()) || has_doubtful_end(header())) {
    return not_an_http_request();
  }
  return std::nullopt;
}

bool RequestReader::wants_short_body() const {
  const auto length = parser_->content_length();
  return wants_body() && length && *length <= net_defaults::kReadAhead;
}

RequestReader::Taken RequestReader::take() {
  Taken taken{.request = parser_->release(), .memory = std::move(memory_)};
  parser_.reset();
  state_ = State::kBetween;
  return taken;
}

void RequestReader::drop() {
  parser_.reset();
  memory_.clear();
  state_ = State::kBetween;
  if (empty()) input_.shrink_to_fit();
}

void RequestReader::drop_all() { input_.consume(input_.size()); }

bool RequestReader::is_late(Time now) const {
  const auto waited = now - began_;
  if (state_ == State::kHeader) return waited > config_.header_timeout;
  if (state_ != State::kBody || waited <= net_defaults::kBodyGrace) return false;
  const double seconds = std::chrono::duration<double>(waited).count();
  return static_cast<double>(body_bytes_) < seconds * config_.min_body_rate;
}

ApiError not_an_http_request() {
  return {.code = "bad_request", .message = "this is not an HTTP/1.1 request"};
}

}  // namespace weft
