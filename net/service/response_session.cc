#include "weft/net/service/response_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/net/api/responses/response_api.h"
#include "weft/net/defaults.h"
#include "weft/net/http/header_values.h"
#include "weft/net/service/random_id.h"

namespace weft {

using std::chrono::steady_clock;

namespace {

// A stream_id is repeated in every event, so it is short.
constexpr std::size_t kLongestStreamId = 64;

std::shared_ptr<ResponseStore> make_local(const ServerConfig& config) {
  return std::make_shared<ResponseStore>(
      ResponseStore::Bounds{.count = static_cast<std::size_t>(config.max_conversation_responses),
                            .bytes = static_cast<std::size_t>(config.max_conversation_bytes)});
}

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
  if (!message) return say(message.error(), {});
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
    if (found->waiting.size() >= net_defaults::kWaitingMessages) {
      return say(too_many("too many messages wait in this stream"), *stream_id);
    }
    BodyMemory::Share memory(service_.body_memory());
    if (!memory.grow(text.size())) return say(Service::no_body_memory(), *stream_id);
    found->waiting.push_back({.text = std::string(text), .memory = std::move(memory)});
    return;
  }
  if (std::cmp_greater_equal(streams_.size(), service_.config().max_streams)) {
    return say(too_many("this connection may have " +
                        std::to_string(service_.config().max_streams) + " streams at once"),
               *stream_id);
  }
  streams_.push_back({.stream_id = std::string(*stream_id)});
  begin(streams_.back(), message, text);
  if (streams_.back().answer == nullptr) streams_.pop_back();
}

void ResponseSession::begin(Stream& stream, simdjson::dom::object message, std::string_view text) {
  auto call = decode(message, stream.stream_id);
  if (!call) return refuse(call.error(), stream, message);
  const std::string id = call->object_id;
  stream.began = steady_clock::now();
  auto begun = service_.begin(
      *std::move(call),
      {.key = client_.key, .request_id = id, .path = "/v1/responses", .began = stream.began},
      thread_, *this);
  if (!begun) return refuse(begun.error(), stream, message);
  stream.lease = std::move(begun->lease);
  stream.place = std::move(begun->place);
  stream.answer = std::move(begun->answer);
  if (service_.log().prompts()) stream.logged_body = std::string(text);
}

void ResponseSession::refuse(const ApiError& error, const Stream& stream,
                             simdjson::dom::object message) {
  std::string_view previous;
  if (local_ != nullptr &&
      message.at_key("previous_response_id").get(previous) == simdjson::SUCCESS) {
    local_->erase(previous, owner_of(client_.key));
  }
  say(error, stream.stream_id);
}

ApiResult<ApiCall> ResponseSession::decode(simdjson::dom::object message,
                                           std::string_view stream_id) {
  if (auto reason = service_.not_ready()) return *std::move(reason);
  bool generate = true;
  simdjson::dom::element field;
  if (message["generate"].get(field) == simdjson::SUCCESS && !field.is_null() &&
      field.get(generate) != simdjson::SUCCESS) {
    return bad_field("generate", "must be true or false");
  }
  auto card = service_.loaded_card_for(message);
  if (!card) return std::move(card).error();
  const std::string model = card->name;
  ApiContext context = service_.context(client_.key, client_.timeout, *std::move(card));
  context.websocket = true;
  context.stream_id = std::string(stream_id);
  if (local_ == nullptr) local_ = make_local(service_.config());
  context.local = local_;
  auto call = decode_response(message, context, generate);
  if (call) {
    for (Request& part : call->parts) part.model = model;
  }
  return call;
}

void ResponseSession::cancel(simdjson::dom::object message) {
  const auto stream_id = stream_id_of(message);
  if (!stream_id) return say(stream_id.error(), {});
  BodyFields fields(message);
  fields.ignore({"type", "stream_id"});
  const auto id = fields.text("response_id");
  if (const auto& error = fields.finish()) return say(*error, *stream_id);
  const auto found = std::ranges::find_if(streams_, [&](const Stream& stream) {
    return id ? stream.answer->object_id() == *id : stream.stream_id == *stream_id;
  });
  if (found == streams_.end()) {
    return say({.status = 404,
                .code = "response_not_found",
                .param = id ? "response_id" : "stream_id",
                .message = "nothing runs that could be cancelled"},
               *stream_id);
  }
  found->answer->ask_to_end(EndCause::kCancel);
}

void ResponseSession::on_news(Answer& answer) {
  for (Stream& stream : streams_) {
    if (stream.answer.get() == &answer) stream.news = true;
  }
  wake_();
}

void ResponseSession::fetch(EventBatch& out) {
  if (!said_.empty()) {
    std::swap(out, said_);
    said_.clear();
    return;
  }
  // News may turn out to be nothing to say yet; then the next stream is asked, since nobody wakes
  // again.
  while (out.empty()) {
    const auto found = std::ranges::find(streams_, true, &Stream::news);
    if (found == streams_.end()) return;
    found->news = false;
    found->answer->fetch(out);
    if (found->answer->ended()) {
      finish(found);
    } else {
      streams_.splice(streams_.end(), streams_, found);  // the others get their turn
    }
  }
}

void ResponseSession::finish(Streams::iterator stream) {
  settle(*stream, "client_gone");
  stream->lease = KeyLease();
  stream->place = RunningAnswers::Place();
  stream->answer = nullptr;
  while (stream->answer == nullptr && !stream->waiting.empty()) {
    const WaitingMessage next = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    const ParsedBody parsed(next.text);  // again: what was parsed when it came is gone
    if (parsed.object()) {
      begin(*stream, *parsed.object(), next.text);
    } else {
      say(parsed.object().error(), stream->stream_id);  // there is no memory for it
    }
  }
  if (stream->answer == nullptr) streams_.erase(stream);
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
