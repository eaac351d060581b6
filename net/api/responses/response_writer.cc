#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/responses/response_object.h"
#include "weft/net/api/token_logprobs.h"

namespace weft {
namespace {

/// The error's code when the client stopped the response itself, which is an end and no failure.
constexpr std::string_view kCancelled = "cancelled";

/// The response as far as it has come, and what becomes of it in the end.
class ResponseRecord {
 public:
  ResponseRecord(ResponseOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)), object_(options_), logprob_writer_(std::move(model)) {}

  [[nodiscard]] const ResponseOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ResponseObject& object() const noexcept { return object_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// Returns the logprobs of all tokens so far, as JSON.
  [[nodiscard]] std::string_view logprobs() const noexcept { return logprobs_; }

  /// Returns the logprobs of these tokens, as JSON; valid until the next call.
  std::string_view add(const Delta& delta) {
    text_.append(delta.text);
    if (!options_.logprobs || delta.tokens.empty()) return {};
    if (!logprobs_.empty()) logprobs_.push_back(',');
    const std::size_t before = logprobs_.size();
    logprob_writer_.append(delta, logprobs_);
    return std::string_view(logprobs_).substr(before);
  }

  /// Returns how the response ended, given how its part did.
  ResponseState state_at_end(std::span<const Finish> parts) {
    ResponseState state{.status = "completed", .usage = note_usage(parts)};
    if (!parts.empty()) {
      state.completed_at = object_.completed_at(parts.front().times);
      const bool is_cut = options_.generate && parts.front().reason == FinishReason::kLength;
      if (is_cut) state.incomplete_reason = kMaxTokens;
      if (parts.front().reason == FinishReason::kCancelled) state.incomplete_reason = kCancelled;
    } else {
      state.completed_at = object_.completed_at({});
    }
    if (!state.incomplete_reason.empty()) state.status = "incomplete";
    return state;
  }

  ResponseState state_at_failure(const ApiError& error, std::span<const Finish> parts) {
    const Usage* usage = parts.empty() ? nullptr : note_usage(parts);
    if (error.code == kCancelled) {
      return {.status = "incomplete", .incomplete_reason = kCancelled, .usage = usage};
    }
    return {.status = "failed", .error = &error, .usage = usage};
  }

  /// Called at the end: keeps a response that can be fetched and continued, or forgets the one that
  /// it continued.
  void settle(const ResponseState& state, std::string object) {
    if (state.error != nullptr) return forget_previous();
    if (options_.store == nullptr) return;
    StoredResponse stored;
    stored.id = options_.id;
    stored.owner = options_.owner;
    stored.object = std::move(object);
    stored.conversation = std::move(options_.conversation);
    stored.answered = options_.generate;
    if (options_.generate) {
      stored.conversation.push_back(
          boost::json::object{{"role", "assistant"}, {"content", std::move(text_)}});
    }
    options_.store->put(std::move(stored));
  }

  void forget_previous() {
    if (options_.local != nullptr) options_.local->erase(options_.previous_id, options_.owner);
  }

 private:
  static constexpr std::string_view kMaxTokens = "max_output_tokens";

  const Usage* note_usage(std::span<const Finish> parts) {
    usage_ = parts.empty() ? Usage{} : parts.front().usage;
    if (!options_.generate) usage_.output_tokens = 0;
    return &usage_;
  }

  ResponseOptions options_;
  ResponseObject object_;
  TokenLogprobWriter logprob_writer_;
  std::string text_;
  std::string logprobs_;
  Usage usage_;
};

/// Returns the content part of all the text, as JSON.
std::string whole_part(const ResponseRecord& record) {
  std::string text;
  append_json_string(text, record.text());
  return ResponseObject::part(text, record.logprobs());
}

/// Writes the events, for SSE or WebSocket.
class ResponseStreamWriter final : public ReplyWriter {
 public:
  ResponseStreamWriter(ResponseOptions options, std::shared_ptr<const ServedModel> model)
      : record_(std::move(options), std::move(model)) {
    if (!record_.options().stream_id.empty()) {
      stream_field_ = ",\"stream_id\":";
      append_json_string(stream_field_, record_.options().stream_id);
    }
    place_ = ",\"item_id\":";
    append_json_string(place_, record_.options().message_id);
    place_.append(",\"output_index\":0,\"content_index\":0");
    delta_head_.append("{\"type\":\"").append(kDeltaEvent).append("\"").append(stream_field_);
    delta_head_.append(place_).append(",\"sequence_number\":");
  }

  void begin(EventBatch& out) override {
    begun_ = true;
    const std::string object = record_.object().make({}, {});
    add_with_response("response.created", object, out);
    add_with_response("response.in_progress", object, out);
  }

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& out) override {
    if (!record_.options().generate) return;
    const std::string_view logprobs = record_.add(delta);
    if (delta.text.empty() && logprobs.empty()) return;
    if (!item_added_) add_item(out);
    out.begin(kDeltaEvent);
    std::string& text = out.text();
    text.append(delta_head_);
    append_number(text, sequence_++);
    text.append(",\"delta\":");
    append_json_string(text, delta.text);
    text.append(",\"logprobs\":[").append(logprobs).append("]}");
    out.end();
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    finish(record_.state_at_end(parts), out);
  }

  void fail(const ApiError& error, std::span<const Finish> parts, EventBatch& out) override {
    if (!begun_ && error.code == kCancelled) begin(out);
    if (begun_) return finish(record_.state_at_failure(error, parts), out);
    record_.forget_previous();
    add_error(error, out);
  }

 private:
  static constexpr std::string_view kDeltaEvent = "response.output_text.delta";

  /// Begins an event with {"type":...,"stream_id":...
  std::string& begin_event(std::string_view type, EventBatch& out) {
    out.begin(type);
    out.text().append("{\"type\":\"").append(type).append("\"").append(stream_field_);
    return out.text();
  }

  /// Ends an event with ,"sequence_number":...,NAME:VALUE}
  void end_event(std::string_view name, std::string_view value, EventBatch& out) {
    std::string& text = out.text();
    text.append(",\"sequence_number\":");
    append_number(text, sequence_++);
    text.append(",\"").append(name).append("\":").append(value).append("}");
    out.end();
  }

  void add_with_response(std::string_view type, std::string_view object, EventBatch& out) {
    begin_event(type, out);
    end_event("response", object, out);
  }

  void add_with_item(std::string_view type, std::string_view item, EventBatch& out) {
    begin_event(type, out).append(",\"output_index\":0");
    end_event("item", item, out);
  }

  void add_with_part(std::string_view type, std::string_view part, EventBatch& out) {
    begin_event(type, out).append(place_);
    end_event("part", part, out);
  }

  void add_item(EventBatch& out) {
    item_added_ = true;
    add_with_item("response.output_item.added", record_.object().item("in_progress", {}), out);
    add_with_part("response.content_part.added", ResponseObject::part("\"\"", {}), out);
  }

  /// Ends the message and returns it.
  std::string end_item(std::string_view status, EventBatch& out) {
    if (!item_added_) add_item(out);
    std::string text;
    append_json_string(text, record_.text());
    begin_event("response.output_text.done", out)
        .append(place_)
        .append(",\"logprobs\":[")
        .append(record_.logprobs())
        .append("]");
    end_event("text", text, out);
    const std::string part = ResponseObject::part(text, record_.logprobs());
    add_with_part("response.content_part.done", part, out);
    std::string item = record_.object().item(status, part);
    add_with_item("response.output_item.done", item, out);
    return item;
  }

  void finish(const ResponseState& state, EventBatch& out) {
    std::string item;
    if (state.error != nullptr) {
      if (item_added_) item = record_.object().item(state.status, whole_part(record_));
    } else if (record_.options().generate) {
      item = end_item(state.status, out);
    }
    std::string object = record_.object().make(state, item);
    add_with_response(std::string("response.").append(state.status), object, out);
    record_.settle(state, std::move(object));
    if (out.framing() == Framing::kSse) out.add("[DONE]");
  }

  /// Adds the event of a request that never became a response.
  void add_error(const ApiError& error, EventBatch& out) {
    if (out.framing() == Framing::kWebSocket) {
      out.begin();
      append_error_event(error, record_.options().stream_id, out.text());
      return out.end();
    }
    std::string& text = begin_event("error", out);
    text.append(",\"code\":");
    append_json_string_or_null(text, error.code);
    text.append(",\"param\":");
    append_json_string_or_null(text, error.param);
    std::string message;
    append_json_string(message, error.message);
    end_event("message", message, out);
    out.add("[DONE]");
  }

  ResponseRecord record_;
  std::string stream_field_;  // ,"stream_id":... or nothing
  std::string place_;         // ,"item_id":...,"output_index":0,"content_index":0
  std::string delta_head_;    // a delta event, up to its number
  std::int64_t sequence_ = 0;
  bool begun_ = false;
  bool item_added_ = false;
};

/// Writes the response object alone.
class ResponseBodyWriter final : public ReplyWriter {
 public:
  ResponseBodyWriter(ResponseOptions options, std::shared_ptr<const ServedModel> model)
      : record_(std::move(options), std::move(model)) {}

  void begin(EventBatch& /*out*/) override {}

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& /*out*/) override {
    record_.add(delta);
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    finish(record_.state_at_end(parts), out);
  }

  void fail(const ApiError& error, std::span<const Finish> parts, EventBatch& out) override {
    if (error.code == kCancelled) finish(record_.state_at_failure(error, parts), out);
  }

 private:
  void finish(const ResponseState& state, EventBatch& out) {
    std::string item;
    if (record_.options().generate) item = record_.object().item(state.status, whole_part(record_));
    std::string object = record_.object().make(state, item);
    out.add(object);
    record_.settle(state, std::move(object));
  }

  ResponseRecord record_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_response_writer(ResponseOptions options,
                                                  std::shared_ptr<const ServedModel> model,
                                                  Framing framing) {
  if (framing == Framing::kBody) {
    return std::make_unique<ResponseBodyWriter>(std::move(options), std::move(model));
  }
  return std::make_unique<ResponseStreamWriter>(std::move(options), std::move(model));
}

}  // namespace weft
