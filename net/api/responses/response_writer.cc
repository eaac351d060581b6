#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/responses/response_events.h"
#include "weft/net/api/responses/response_items.h"
#include "weft/net/api/responses/response_object.h"
#include "weft/net/api/responses/response_store.h"
#include "weft/net/api/token_logprobs.h"

namespace weft {
namespace {

/// The error's code when the client stopped the response itself, which is no failure.
constexpr std::string_view kCancelled = "cancelled";

/// The response so far. When it ends, it is stored or forgotten.
class ResponseRecord {
 public:
  ResponseRecord(ResponseOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)),
        object_(options_),
        items_(options_),
        model_(std::move(model)),
        logprob_writer_(model_) {}

  [[nodiscard]] const ResponseOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ResponseObject& object() const noexcept { return object_; }
  [[nodiscard]] ResponseItems& items() noexcept { return items_; }

  /// Splits a delta into items. `events` is called for each: begun(item), added(item, text,
  /// logprobs) and ended(item, status).
  template <class Events>
  void add(const Delta& delta, Events&& events) {
    for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
      logprobs_.clear();
      if (options_.logprobs && piece.kind == PieceKind::kText) {
        logprob_writer_.append(delta, piece.text, logprobs_);
      }
      add_piece(piece, events);
    });
  }

  /// Ends the open item. A response without any item gets an empty message.
  template <class Events>
  void end_items(std::string_view status, Events&& events) {
    if (items_.empty()) open_item({}, events);
    end_item(status == "completed" ? kCompleted : kIncomplete, events);
  }

  /// Returns the response's final state, given its part's.
  ResponseState state_at_end(std::span<const Finish> parts) {
    ResponseState state{.status = "completed", .usage = note_usage(parts)};
    if (!parts.empty()) {
      state.completed_at = object_.completed_at(parts.front().times);
      const bool is_cut = options_.generate && parts.front().reason == FinishReason::kLength;
      if (is_cut) state.incomplete_reason = kMaxTokens;
      if (cut_by_stop_string(parts.front())) state.incomplete_reason = kStopString;
      if (parts.front().reason == FinishReason::kCancelled) state.incomplete_reason = kCancelled;
    } else {
      state.completed_at = object_.completed_at({});
    }
    if (!state.incomplete_reason.empty()) state.status = "incomplete";
    return state;
  }

  ResponseState state_at_failure(const ApiError& error, std::span<const Finish> parts) {
    // A refused request has used no tokens.
    const bool began = !parts.empty() && parts.front().usage.prompt_tokens > 0;
    const Usage* usage = began ? note_usage(parts) : nullptr;
    if (error.code == kCancelled) {
      if (options_.background) return {.status = kCancelled, .usage = usage};
      return {.status = "incomplete", .incomplete_reason = kCancelled, .usage = usage};
    }
    return {.status = "failed", .error = &error, .usage = usage};
  }

  /// Called at the end. Stores the response, so that it can be fetched and continued. A failed
  /// response, unless made in the background, instead removes the response that it continued from
  /// the WebSocket's store.
  void settle(const ResponseState& state, std::string object) {
    if (state.error != nullptr && !options_.background) return forget_previous();
    if (options_.store == nullptr) return;
    StoredResponse stored;
    stored.id = options_.id;
    stored.owner = options_.owner;
    stored.object = std::move(object);
    stored.conversation = std::move(options_.conversation);
    stored.conversation_bytes = options_.conversation_bytes;
    stored.tools = options_.tools;
    stored.answered = options_.generate;
    stored.whole = state.error == nullptr;
    if (options_.generate) {
      boost::json::array answer{items_.message(*model_)};
      stored.conversation_bytes += conversation_bytes(answer);
      stored.conversation.push_back(std::move(answer.front()));
    }
    options_.store->put(std::move(stored));
  }

  void forget_previous() {
    if (options_.local != nullptr) options_.local->erase(options_.previous_id, options_.owner);
  }

 private:
  static constexpr std::string_view kMaxTokens = "max_output_tokens";
  static constexpr std::string_view kStopString = "stop";
  static constexpr std::string_view kCompleted = "completed";
  static constexpr std::string_view kIncomplete = "incomplete";

  /// Returns whether a stop string ended an output that is useless unless complete. A plain text
  /// that a stop string ends is what the client wants.
  [[nodiscard]] bool cut_by_stop_string(const Finish& part) const {
    if (!options_.generate || part.choices.empty()) return false;
    const ChoiceEnd& end = part.choices.front();
    return !end.stop.empty() && (end.in_call || (options_.structured && end.calls == 0));
  }

  template <class Events>
  ResponseItem& open_item(const OutputPiece& piece, Events& events) {
    const bool begins = items_.open() == nullptr;
    ResponseItem& item = items_.place_of(piece);
    if (begins) events.begun(item);
    return item;
  }

  template <class Events>
  void end_item(std::string_view status, Events& events) {
    ResponseItem* const item = items_.open();
    if (item == nullptr) return;
    const bool cut = item->kind == ResponseItem::Kind::kCall && !item->call_ended;
    item->status = cut ? kIncomplete : status;
    events.ended(*item, item->status);
  }

  template <class Events>
  void add_piece(const OutputPiece& piece, Events& events) {
    if (piece.kind == PieceKind::kCallEnd) {
      if (ResponseItem* const item = items_.open()) item->call_ended = true;
      return end_item(kCompleted, events);
    }
    if (items_.ends_open_item(piece.kind)) end_item(kCompleted, events);
    if (piece.kind == PieceKind::kCallId) return items_.name_call(piece.text);
    ResponseItem& item = open_item(piece, events);
    if (piece.kind == PieceKind::kCallName) return;
    item.text.append(piece.text);
    if (!item.logprobs.empty() && !logprobs_.empty()) item.logprobs.push_back(',');
    item.logprobs.append(logprobs_);
    events.added(item, piece.text, logprobs_);
  }

  const Usage* note_usage(std::span<const Finish> parts) {
    usage_ = parts.empty() ? Usage{} : parts.front().usage;
    if (!options_.generate) usage_.output_tokens = 0;
    return &usage_;
  }

  ResponseOptions options_;
  ResponseObject object_;
  ResponseItems items_;
  std::shared_ptr<const ServedModel> model_;
  TokenLogprobWriter logprob_writer_;
  std::string logprobs_;  // logprobs of a message's piece, as JSON
  Usage usage_;
};

/// Ignores the events of items, where nothing is streamed.
struct NoEvents {
  void begun(const ResponseItem& /*item*/) {}
  void added(const ResponseItem& /*item*/, std::string_view /*text*/,
             std::string_view /*logprobs*/) {}
  void ended(const ResponseItem& /*item*/, std::string_view /*status*/) {}
};

/// Writes the events, for SSE or WebSocket.
class ResponseStreamWriter final : public ReplyWriter {
 public:
  ResponseStreamWriter(ResponseOptions options, std::shared_ptr<const ServedModel> model)
      : record_(std::move(options), std::move(model)), events_(record_.options().stream_id) {}

  void begin(EventBatch& out) override {
    begun_ = true;
    const std::string object = record_.object().make({}, {});
    events_.response("response.created", object, out);
    events_.response("response.in_progress", object, out);
  }

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& out) override {
    if (!record_.options().generate) return;
    record_.add(delta, ItemEvents{events_, out});
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
  struct ItemEvents {
    ResponseEvents& events;
    EventBatch& out;

    void begun(const ResponseItem& item) const { events.begin_item(item, out); }
    void added(const ResponseItem& item, std::string_view text, std::string_view logprobs) const {
      events.delta(item, text, logprobs, out);
    }
    void ended(const ResponseItem& item, std::string_view status) const {
      events.end_item(item, status, out);
    }
  };

  void finish(const ResponseState& state, EventBatch& out) {
    if (state.error == nullptr && record_.options().generate) {
      record_.end_items(state.status, ItemEvents{events_, out});
    }
    const std::string items = record_.items().json("incomplete");
    std::string object = record_.object().make(state, items);
    events_.response(std::string("response.").append(state.status), object, out);
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
    events_.error(error, out);
    out.add("[DONE]");
  }

  ResponseRecord record_;
  ResponseEvents events_;
  bool begun_ = false;
};

/// Writes the response object alone.
class ResponseBodyWriter final : public ReplyWriter {
 public:
  ResponseBodyWriter(ResponseOptions options, std::shared_ptr<const ServedModel> model)
      : record_(std::move(options), std::move(model)) {}

  void begin(EventBatch& /*out*/) override {}

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& /*out*/) override {
    record_.add(delta, NoEvents{});
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    finish(record_.state_at_end(parts), out);
  }

  void fail(const ApiError& error, std::span<const Finish> parts, EventBatch& out) override {
    // The reply to a background request was sent long ago, so only the stored object says how the
    // response ended.
    if (error.code == kCancelled || record_.options().background) {
      finish(record_.state_at_failure(error, parts), out);
    }
  }

 private:
  void finish(const ResponseState& state, EventBatch& out) {
    if (record_.options().generate) record_.end_items(state.status, NoEvents{});
    std::string object = record_.object().make(state, record_.items().json("incomplete"));
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
