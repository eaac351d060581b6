#include "weft/net/server/request_reader.h"

#include <boost/beast/http/error.hpp>
#include <iterator>
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

/// Whether others could see the end of the body elsewhere (RFC 9112, section 6.1). Beast takes some
/// of these encodings for no body at all.
bool has_doubtful_end(const RequestReader::Header& header) {
  const auto encodings = header.count(http::field::transfer_encoding);
  if (encodings == 0) return false;
  return header.version() < 11 || encodings > 1 ||
         !boost::beast::iequals(header[http::field::transfer_encoding], "chunked");
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
  body_bytes_ = 0;
  memory_.clear();
}

void RequestReader::enter(State state) {
  state_ = state;
  began_ = steady_clock::now();
}

RequestReader::Found RequestReader::wait() {
  // The buffer is full of trailers or of a chunk's extensions: everything else is taken out as it
  // comes.
  if (room() == 0) return refuse(header_too_large());
  return Found::kNothing;
}

RequestReader::Found RequestReader::refuse(ApiError why) {
  error_ = std::move(why);
  parser_.reset();  // the part of the body that has come frees its memory at once
  memory_.clear();
  return Found::kError;
}

std::optional<ApiError> RequestReader::header_error() const {
  const auto fields = std::distance(header().begin(), header().end());
  if (fields > config_.max_header_fields) return header_too_large();
  if (header().version() >= 11 && header().count(http::field::host) != 1)
    return not_an_http_request();
  if (has_doubtful_end(header())) return not_an_http_request();
  return std::nullopt;
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
