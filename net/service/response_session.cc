#include "weft/net/service/response_session.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/defaults.h"
#include "weft/net/http/header_values.h"
#include "weft/net/service/decode_call.h"
#include "weft/net/service/random_id.h"

namespace weft {

using std::chrono::steady_clock;

namespace {

// The bound is short, because every event repeats the stream_id.
constexpr std::size_t kLongestStreamId = 64;

ApiResult<std::string_view> stream_id_of(simdjson::dom::object message) {
  simdjson::dom::element field;
  if (message["stream_id"].get(field) != simdjson::SUCCESS || field.is_null()) {
    return std::string_view();
  }
  std::string_view text;
  if (field.get(text) != simdjson::SUCCESS || text.empty() || text.size() > kLongestStreamId) {
    return bad_field("stream_id", "must be a text of 1 .. 64 bytes");
  }
  return text;
}

/// Returns the response that the message continues; empty: none.
std::string_view previous_of(simdjson::dom::object message) {
  std::string_view previous;
  const auto found = message.at_key("previous_response_id").get(previous);
  return found == simdjson::SUCCESS ? previous : std::string_view();
}

/// Returns the result of `make`; 500 when it throws.
template <class Make>
auto api_result_or_500(const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::exception&) {
    return api_error_of({EngineErrc::kInternal, {}});
  }
}

/// Returns the stream_id of a large message, and sets the id of the response that the message
/// continues.
ApiResult<std::string> open_message(std::string_view text, std::string& previous_id) {
  return api_result_or_500([&]() -> ApiResult<std::string> {
    const ParsedBody parsed(text);
    if (!parsed.object()) return parsed.object().error();
    std::string_view type;
    if ((*parsed.object())["type"].get(type) != simdjson::SUCCESS || type != "response.create") {
      return bad_field("type", "a message of this size can be a response.create alone");
    }
    const auto stream_id = stream_id_of(*parsed.object());
    if (!stream_id) return stream_id.error();
    previous_id = previous_of(*parsed.object());
    return std::string(*stream_id);
  });
}

/// Decodes a message. Thread-safe.
ApiResult<ApiCall> decode_message(const Service& service, const ResponseSession::Client& client,
                                  const std::shared_ptr<ResponseStore>& local,
                                  std::string_view stream_id, simdjson::dom::object message) {
  bool generate = true;
  simdjson::dom::element field;
  if (message["generate"].get(field) == simdjson::SUCCESS && !field.is_null() &&
      field.get(generate) != simdjson::SUCCESS) {
    return bad_field("generate", "must be true or false");
  }
  return decode_for_model(service, client.key, client.timeout, message,
                          [&](simdjson::dom::object body, ApiContext context) {
                            context.websocket = true;
                            context.stream_id = std::string(stream_id);
                            context.local = local;
                            return decode_response(body, context, generate);
                          });
}

ApiError too_many(std::string message) {
  return {.status = 429,
          .type = "rate_limit_error",
          .code = "too_many_streams",
          .param = "stream_id",
          .message = std::move(message)};
}

}  // namespace

ResponseSession::ResponseSession(IoThread& thread, Service& service, Client client,
                                 std::function<void()> wake)
    : thread_(thread), service_(service), client_(std::move(client)), wake_(std::move(wake)) {}

void ResponseSession::on_message(std::string_view text) {
  const ParsedBody parsed(text);
  const auto& message = parsed.object();
  if (!message) {
    service_.charge_refused(client_.key, text.size());
    return say(message.error(), {});
  }
  std::string_view type;
  if ((*message)["type"].get(type) != simdjson::SUCCESS) {
    return say(bad_field("type", "must be a text"), {});
  }
  if (type == "response.create") return create(*message, text);
  if (type == "response.cancel") return cancel(*message);
  say(bad_field("type", "there is no such message; response.create and response.cancel are",
                "unknown_type"),
      {});
}

ResponseSession::Streams::iterator ResponseSession::find(std::string_view stream_id) {
  return std::ranges::find(streams_, stream_id, &Stream::stream_id);
}

void ResponseSession::create(simdjson::dom::object message, std::string_view text) {
  const auto stream_id = stream_id_of(message);
  if (!stream_id) return say(stream_id.error(), {});
  const auto found = find(*stream_id);
  if (found != streams_.end()) {
    if (!may_wait(*found)) return;
    BodyMemory::Share memory(service_.body_memory());
    if (!memory.grow(text.size())) return say(Service::no_body_memory(), *stream_id);
    found->waiting.push_back({.text = std::string(text), .memory = std::move(memory)});
    return;
  }
  if (!open_stream(*stream_id)) return;
  begin(streams_.back(), message, text);
  if (streams_.back().answer == nullptr) streams_.pop_back();
}

bool ResponseSession::may_wait(const Stream& stream) {
  if (stream.waiting.size() < net_defaults::kWaitingMessages) return true;
  say(too_many("too many messages wait in this stream"), stream.stream_id);
  return false;
}

bool ResponseSession::open_stream(std::string_view stream_id) {
  if (std::cmp_less(streams_.size(), service_.config().max_streams)) {
    streams_.push_back({.stream_id = std::string(stream_id)});
    return true;
  }
  say(too_many("this connection may have " + std::to_string(service_.config().max_streams) +
               " streams at once"),
      stream_id);
  return false;
}

std::optional<ApiError> ResponseSession::may_not_begin() {
  if (auto reason = service_.not_ready()) return reason;
  if (client_.place != nullptr) {
    if (auto reason = client_.place->take_request(steady_clock::now())) return reason;
  }
  if (local_ == nullptr) {
    const ServerConfig& config = service_.config();
    local_ = service_.make_store(config.max_conversation_responses, config.max_conversation_bytes);
  }
  return std::nullopt;
}

void ResponseSession::begin(Stream& stream, simdjson::dom::object message, std::string_view text) {
  const std::string_view previous_id = previous_of(message);
  if (const auto reason = may_not_begin()) return refuse(*reason, stream, previous_id);
  start(stream, decode_message(service_, client_, local_, stream.stream_id, message), previous_id,
        text);
}

void ResponseSession::start(Stream& stream, ApiResult<ApiCall> call, std::string_view previous_id,
                            std::string_view text) {
  if (!call) {
    if (call.error().status < 429) service_.charge_refused(client_.key, text.size());
    return refuse(call.error(), stream, previous_id);
  }
  const std::string id = call->object_id;
  stream.began = steady_clock::now();
  auto begun = service_.begin(
      *std::move(call),
      {.key = client_.key, .request_id = id, .path = "/v1/responses", .began = stream.began},
      thread_, *this);
  if (!begun) return refuse(begun.error(), stream, previous_id);
  stream.lease = std::move(begun->lease);
  stream.place = std::move(begun->place);
  stream.answer = std::move(begun->answer);
  if (service_.log().prompts()) stream.logged_body = std::string(text);
}

void ResponseSession::refuse(const ApiError& error, const Stream& stream,
                             std::string_view previous_id) {
  if (local_ != nullptr && !previous_id.empty()) {
    local_->erase(previous_id, owner_of(client_.key));
  }
  say(error, stream.stream_id);
}

/// Runs work(message) on a worker, and then handles the result on this thread.
template <class Work>
void ResponseSession::post(const std::shared_ptr<LargeMessage>& message, Work work) {
  service_.body_workers().post([&thread = thread_, &service = service_, here = std::weak_ptr(here_),
                                waiting = std::weak_ptr(message), work = std::move(work)] {
    auto mine = waiting.lock();
    if (mine == nullptr) return;  // the session's connection has ended
    work(*mine);
    mine = nullptr;
    try {
      boost::asio::post(thread.context(), [here, waiting] {
        const auto session = here.lock();
        const auto read = waiting.lock();
        if (session == nullptr || read == nullptr) return;
        read->ready = true;
        (*session)->wake_();
      });
    } catch (const std::exception& failure) {
      service.log().failure("a large message was left without an answer", failure);
    }
  });
}

void ResponseSession::on_large_message(std::string_view text, BodyMemory::Share memory) {
  opening_ = std::make_shared<LargeMessage>(
      LargeMessage{.message = {.text = std::string(text), .memory = std::move(memory)}});
  post(opening_, [](LargeMessage& large) {
    WaitingMessage& message = large.message;
    large.stream_id.emplace(open_message(message.text, message.previous_id));
  });
}

void ResponseSession::take_opened() {
  if (opening_ == nullptr || !opening_->ready) return;
  const auto opened = std::exchange(opening_, nullptr);
  if (!*opened->stream_id) {
    service_.charge_refused(client_.key, opened->message.text.size());
    return say(opened->stream_id->error(), {});
  }
  const std::string& stream_id = **opened->stream_id;
  const auto found = find(stream_id);
  if (found != streams_.end()) {
    if (may_wait(*found)) found->waiting.push_back(std::move(opened->message));
    return;
  }
  if (!open_stream(stream_id)) return;
  begin_apart(streams_.back(), std::move(opened->message));
  if (streams_.back().decoding == nullptr) streams_.pop_back();
}

void ResponseSession::begin_apart(Stream& stream, WaitingMessage message) {
  if (const auto reason = may_not_begin()) return refuse(*reason, stream, message.previous_id);
  if (client_.key != nullptr) {
    const auto may = client_.key->check(steady_clock::now());
    if (!may) return refuse(may.error(), stream, message.previous_id);
  }
  stream.decoding = std::make_shared<LargeMessage>(LargeMessage{.message = std::move(message)});
  post(stream.decoding, [&service = service_, client = client_, local = local_,
                         stream_id = stream.stream_id](LargeMessage& large) {
    large.call.emplace(api_result_or_500([&]() -> ApiResult<ApiCall> {
      const ParsedBody parsed(large.message.text);
      if (!parsed.object()) return parsed.object().error();
      return decode_message(service, client, local, stream_id, *parsed.object());
    }));
  });
}

void ResponseSession::take_decoded() {
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const auto now = stream++;  // because it may leave the list
    if (now->decoding == nullptr || !now->decoding->ready) continue;
    const auto large = std::exchange(now->decoding, nullptr);
    start(*now, *std::move(large->call), large->message.previous_id, large->message.text);
    if (now->answer == nullptr) {
      go_on(now);
    } else if (large->cancelled) {
      now->answer->ask_to_end(EndCause::kCancel);
    }
  }
}

void ResponseSession::cancel(simdjson::dom::object message) {
  const auto stream_id = stream_id_of(message);
  if (!stream_id) return say(stream_id.error(), {});
  BodyFields fields(message);
  fields.ignore({"type", "stream_id"});
  const auto id = fields.text("response_id");
  if (const auto& error = fields.finish()) return say(*error, *stream_id);
  const auto found = std::ranges::find_if(streams_, [&](const Stream& stream) {
    if (!id) return stream.stream_id == *stream_id;
    return stream.answer != nullptr && stream.answer->object_id() == *id;
  });
  if (found == streams_.end()) {
    return say({.status = 404,
                .code = "response_not_found",
                .param = id ? "response_id" : "stream_id",
                .message = "nothing runs that could be cancelled"},
               *stream_id);
  }
  if (found->answer == nullptr) {
    found->decoding->cancelled = true;
  } else {
    found->answer->ask_to_end(EndCause::kCancel);
  }
}

void ResponseSession::on_news(Answer& answer) {
  for (Stream& stream : streams_) {
    if (stream.answer.get() == &answer) stream.news = true;
  }
  wake_();
}

void ResponseSession::fetch(EventBatch& out) {
  take_opened();
  take_decoded();
  if (!said_.empty()) {
    std::swap(out, said_);
    said_.clear();
    return;
  }
  // A stream with news may have no event yet. Then the next stream is asked, since no further wake
  // comes.
  while (out.empty()) {
    const auto found = std::ranges::find(streams_, true, &Stream::news);
    if (found == streams_.end()) return;
    found->news = false;
    found->answer->fetch(out);
    if (found->answer->ended()) {
      finish(found);
    } else {
      streams_.splice(streams_.end(), streams_, found);  // the other streams get their turn
    }
  }
}

void ResponseSession::finish(Streams::iterator stream) {
  settle(*stream, "client_gone");
  stream->lease = KeyLease();
  stream->place = RunningAnswers::Place();
  stream->answer = nullptr;
  go_on(stream);
}

/// Begins the next waiting message of a stream without an answer, or ends the stream.
void ResponseSession::go_on(Streams::iterator stream) {
  while (stream->answer == nullptr && stream->decoding == nullptr && !stream->waiting.empty()) {
    WaitingMessage next = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    if (next.text.size() > net_defaults::kInlineBody) {
      begin_apart(*stream, std::move(next));
      continue;
    }
    const ParsedBody parsed(next.text);  // parsed again, because the parser has read other texts
                                         // since
    if (parsed.object()) {
      begin(*stream, *parsed.object(), next.text);
    } else {
      say(parsed.object().error(), stream->stream_id);  // there is no memory for the text
    }
  }
  if (stream->answer == nullptr && stream->decoding == nullptr) streams_.erase(stream);
}

bool ResponseSession::too_slow() const noexcept {
  const auto bound = static_cast<std::size_t>(service_.config().max_unread_bytes);
  return std::ranges::any_of(streams_, [bound](const Stream& stream) {
    return stream.answer != nullptr && stream.answer->unread_bytes() > bound;
  });
}

void ResponseSession::abandon(EndCause cause) noexcept {
  for (const Stream& stream : streams_) {
    if (stream.answer != nullptr) stream.answer->abandon(cause);
  }
  const bool slow = cause == EndCause::kSlowReader;
  for (const Stream& stream : streams_) {
    if (stream.answer != nullptr) settle(stream, slow ? "client_too_slow" : "client_gone");
  }
  streams_.clear();
  opening_ = nullptr;
}

void ResponseSession::settle(const Stream& stream, std::string_view left) {
  const auto now = steady_clock::now();
  const Usage usage = stream.answer->usage();
  const auto& error = stream.answer->error();
  const bool gone = !stream.answer->ended();
  const std::string warning = warning_value(stream.answer->not_enforced());
  service_.log().request({.request_id = stream.answer->object_id(),
                          .client = client_.address,
                          .key = owner_of(client_.key),
                          .method = "WS",
                          .path = "/v1/responses",
                          .status = gone    ? 499U
                                    : error ? static_cast<unsigned>(error->status)
                                            : 200U,
                          .error = gone    ? left
                                   : error ? std::string_view(error->code)
                                           : std::string_view(),
                          .warning = warning,
                          .prompt_tokens = usage.prompt_tokens,
                          .output_tokens = usage.output_tokens,
                          .took = now - stream.began,
                          .body = stream.logged_body});
}

void ResponseSession::say(const ApiError& error, std::string_view stream_id) {
  said_.begin();
  append_error_event(error, stream_id, said_.text());
  said_.end();
}

}  // namespace weft
