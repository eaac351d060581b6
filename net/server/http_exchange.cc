#include "weft/net/server/http_exchange.h"

#include <algorithm>
#include <iterator>

#include "weft/net/defaults.h"
#include "weft/net/http/header_values.h"
#include "weft/net/service/background_answers.h"

namespace weft {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

namespace {

std::string_view date_now() {
  thread_local std::chrono::sys_seconds second{};
  thread_local std::string text;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (text.empty() || now != second) {
    text = http_date(now);
    second = now;
  }
  return text;
}

/// Returns the error format for the target's path. A target that is no path is tested unchanged.
ErrorShape shape_of_target(std::string_view target) {
  std::string path;
  std::string query;
  return error_shape_of(split_target(target, path, query) ? std::string_view(path) : target);
}

}  // namespace

HttpExchange::HttpExchange(Service& service, const std::string& client, const Header& header,
                           bool keep_alive)
    : service_(service),
      client_(client),
      began_(steady_clock::now()),
      method_(header.method_string()),
      request_id_(Service::request_id_of(header)),
      error_shape_(shape_of_target(header.target())),
      http10_(header.version() < 11),
      is_head_(header.method() == http::verb::head),
      headers_(service.headers_for(header, request_id_)),
      keep_alive_(keep_alive) {
  // Anthropic's clients look for the id under this name.
  if (error_shape_ == ErrorShape::kAnthropic) headers_.emplace_back("request-id", request_id_);
}

HttpExchange::HttpExchange(Service& service, const std::string& client, std::string_view target,
                           Time began)
    : service_(service),
      client_(client),
      began_(began),
      request_id_("-"),
      error_shape_(shape_of_target(target)) {}

HttpExchange::~HttpExchange() {
  if (answer_ && !answer_->ended()) answer_->abandon(EndCause::kCancel);
}

bool HttpExchange::admit(const Header& header, AddressPlace* address) {
  if (address != nullptr) {
    if (const auto limited = address->take_request(steady_clock::now())) {
      return refuse(header, error_reply(*limited));
    }
  }
  auto admission = service_.admit(header, client_);
  if (auto* refusal = std::get_if<HttpReply>(&admission)) {
    return refuse(header, std::move(*refusal));
  }
  admission_ = std::move(std::get<Service::Admission>(admission));
  path_ = admission_.path;
  return true;
}

bool HttpExchange::refuse(const Header& header, HttpReply refusal) {
  path_ = std::string(header.target().substr(0, header.target().find('?')));
  refusal_ = std::move(refusal);
  return false;
}

RouteResult HttpExchange::handle(Request& request, BodyMemory::Share& memory) {
  if (refusal_) return take_refusal();
  if (service_.log().prompts()) logged_body_ = request.body();
  if (admission_.route->need == RouteNeed::kRoom) decoded_bytes_ = request.body().size();
  if (request.body().size() > net_defaults::kInlineBody) {
    large_body_ = std::make_shared<LargeBody>(
        LargeBody{std::move(request), std::move(memory), admission_, client_});
    return handle_apart(service_, large_body_);
  }
  return service_.handle(admission_, request.base(), request.body(), memory, client_);
}

std::optional<ApiError> HttpExchange::start(ApiCall call, IoThread& thread,
                                            Answer::Reader& reader) {
  auto begun = service_.begin(
      std::move(call),
      {.key = admission_.key, .request_id = request_id_, .path = path_, .began = began_}, thread,
      reader);
  if (!begun) return std::move(begun).error();
  lease_ = std::move(begun->lease);
  place_ = std::move(begun->place);
  answer_ = std::move(begun->answer);
  return std::nullopt;
}

HttpReply HttpExchange::start_in_background(ApiCall call, IoThread& thread) {
  HttpReply reply{.body = std::move(call.reply_now)};
  const auto refused = service_.background().start(
      std::move(call),
      {.key = admission_.key, .request_id = request_id_, .path = path_, .began = began_}, client_,
      thread);
  return refused ? error_reply(*refused) : reply;
}

void HttpExchange::append_reply(HttpReply reply, std::string& out) {
  state_ = State::kSaid;
  status_ = reply.status;
  if (reply.error) {
    if (answer_ == nullptr && decoded_bytes_ > 0 && reply.error->status < 429) {
      service_.charge_refused(admission_.key, decoded_bytes_);
    }
    if (error_.empty()) error_ = reply.error->code;
    if (error_shape_ != ErrorShape::kOpenAi) {
      const bool named = request_id_ != "-";
      reply.body = error_body(*reply.error, error_shape_, named ? request_id_ : std::string());
    }
  }
  if (reply.close || service_.draining()) keep_alive_ = false;
  auto headers = headers_;
  std::ranges::move(reply.headers, std::back_inserter(headers));
  const std::size_t length = reply.body.size();
  const auto append_head = [&](std::string& to) {
    append_head_of(reply.status, reply.content_type, headers, &length, to);
  };
  if (is_head_ || !out.empty() || length <= net_defaults::kWriteBytes) {
    append_head(out);
    if (!is_head_) out.append(reply.body);
    return;
  }
  // Where the body's string has room for the head, nothing new is allocated for a large body.
  std::string head;
  append_head(head);
  out = std::move(reply.body);
  out.insert(0, head);
}

void HttpExchange::append_ping(std::string& out) {
  if (state_ == State::kSaid || !streams(answer_->framing()) || answer_->ended()) return;
  EventBatch batch(answer_->framing());
  answer_->ping(batch);
  append_events(batch.bytes(), out);
}

void HttpExchange::append_news(std::string& out) {
  thread_local EventBatch batch(Framing::kBody);  // shared by the exchanges of a thread, because
                                                  // most hold bytes only for a moment
  batch.restart(answer_->framing());
  answer_->fetch(batch);
  if (answer_->error()) error_ = answer_->error()->code;
  if (streams(answer_->framing()) && (answer_->begun() || state_ == State::kStreaming)) {
    return append_events(batch.bytes(), out);
  }
  if (!answer_->ended()) return;
  if (answer_->error() && batch.empty()) return append_reply(error_reply(*answer_->error()), out);
  add_warning();
  append_reply({.body = std::string(batch.bytes())}, out);
}

void HttpExchange::append_events(std::string_view news, std::string& out) {
  if (state_ == State::kMaking) begin_stream(out);
  if (!news.empty()) {
    if (http10_) {
      out.append(news);
    } else {
      append_chunk(news, out);
    }
  }
  if (!answer_->ended()) return;
  if (!http10_) out.append(kLastChunk);
  state_ = State::kSaid;
}

void HttpExchange::begin_stream(std::string& out) {
  state_ = State::kStreaming;
  status_ = 200;
  if (http10_ || service_.draining()) keep_alive_ = false;
  add_warning();
  auto headers = headers_;
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");  // nginx would hold events back without it
  const bool events = answer_->framing() == Framing::kSse;
  append_head_of(status_, events ? kEventStreamType : kLinesType, headers, nullptr, out);
}

void HttpExchange::add_warning() {
  warning_ = warning_value(answer_->not_enforced());
  if (!warning_.empty()) headers_.emplace_back(kWarningHeader, warning_);
}

void HttpExchange::append_head_of(unsigned status, std::string_view content_type,
                                  const std::vector<std::pair<std::string, std::string>>& headers,
                                  const std::size_t* length, std::string& out) const {
  append_head({.status = status,
               .date = date_now(),
               .content_type = content_type,
               .headers = &headers,
               .length = length,
               .keep_alive = keep_alive_,
               .http10 = http10_},
              out);
}

bool HttpExchange::leaves_too_much_unread() const noexcept {
  const auto bound = static_cast<std::size_t>(service_.config().max_unread_bytes);
  return streams(answer_->framing()) && answer_->unread_bytes() > bound;
}

void HttpExchange::lose_client() {
  if (!answer_ || state_ == State::kSaid || !error_.empty()) return;
  error_ = "client_gone";
  if (status_ == 0) status_ = 499;
}

void HttpExchange::lose_slow_client() {
  error_ = "client_too_slow";
  if (answer_) answer_->abandon(EndCause::kSlowReader);
}

void HttpExchange::break_off() {
  // A client that has read its answer may close before the connection learns that the answer was
  // sent.
  if (!answer_ && state_ != State::kSaid) return;
  if (answer_) answer_->abandon(EndCause::kCancel);
  log();
  answer_ = nullptr;
}

void HttpExchange::log() {
  if (status_ == 0) status_ = 499;
  Usage usage;
  if (answer_) usage = answer_->usage();
  service_.log().request({.request_id = request_id_,
                          .client = client_,
                          .key = owner_of(admission_.key),
                          .method = method_,
                          .path = path_,
                          .status = status_,
                          .error = error_,
                          .warning = warning_,
                          .prompt_tokens = usage.prompt_tokens,
                          .output_tokens = usage.output_tokens,
                          .took = steady_clock::now() - began_,
                          .body = logged_body_});
}

}  // namespace weft
