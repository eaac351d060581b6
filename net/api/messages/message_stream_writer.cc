#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/error_shape.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/messages/message_parts.h"
#include "weft/net/api/tools/call_id.h"

namespace weft {
namespace {

/// Writes the events of a message: a block for each run of text, of thoughts, and for each call.
class MessageStreamWriter final : public ReplyWriter {
 public:
  MessageStreamWriter(MessageOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)), model_(std::move(model)) {}

  void admit(std::size_t /*part*/, std::int32_t prompt_tokens) override {
    prompt_tokens_ = prompt_tokens;
  }

  void begin(EventBatch& out) override {
    std::string& text = begin_event("message_start", out);
    text.append(",\"message\":");
    append_message_head(options_, text);
    text.append(R"(],"stop_reason":null,"stop_sequence":null,"usage":)");
    append_message_usage({.prompt_tokens = prompt_tokens_}, options_.service_tier, text);
    text.push_back('}');
    end_event(out);
    begun_ = true;
    ping(out);
  }

  // Before message_start a ping is a comment: some clients insist on message_start as first event.
  void ping(EventBatch& out) override {
    if (!begun_) return out.add_comment("ping");
    begin_event("ping", out);
    end_event(out);
  }

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& out) override {
    for_each_piece(delta.text, delta.marks,
                   [&](const OutputPiece& piece) { add_piece(piece, out); });
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    close_block(out);
    std::string& text = begin_event("message_delta", out);
    text.append(",\"delta\":{");
    append_message_end(message_end_of(parts.front(), options_, *model_), text);
    text.append("},\"usage\":");
    append_message_usage(parts.front().usage, {}, text);
    append_message_edits(options_, text);
    end_event(out);
    begin_event("message_stop", out);
    end_event(out);
  }

  void fail(const ApiError& error, std::span<const Finish> /*parts*/, EventBatch& out) override {
    out.add(error_body(error, ErrorShape::kAnthropic), "error");
  }

 private:
  enum class Block : std::uint8_t { kNone, kText, kThinking, kCall };

  void add_piece(const OutputPiece& piece, EventBatch& out) {
    switch (piece.kind) {
      case PieceKind::kText:
        if (block_ != Block::kText) open_text(Block::kText, R"({"type":"text","text":""})", out);
        return add_delta(R"({"type":"text_delta","text":)", piece.text, out);
      case PieceKind::kReasoning:
        if (!options_.show_thinking) return;
        if (block_ != Block::kThinking) {
          open_text(Block::kThinking, R"({"type":"thinking","thinking":"","signature":""})", out);
        }
        return add_delta(R"({"type":"thinking_delta","thinking":)", piece.text, out);
      case PieceKind::kCallName:
        return open_call(piece.text, out);
      case PieceKind::kArguments:
        return add_delta(R"({"type":"input_json_delta","partial_json":)", piece.text, out);
      case PieceKind::kCallEnd:
        return close_block(out);
      case PieceKind::kCallId:
        call_id_ = piece.text;
        return;
    }
  }

  void open_text(Block block, std::string_view content, EventBatch& out) {
    begin_block(block, out).append(content);
    end_event(out);
  }

  void open_call(std::string_view name, EventBatch& out) {
    std::string& text = begin_block(Block::kCall, out);
    text.append(R"({"type":"tool_use","id":)");
    append_json_string(text, call_id(std::exchange(call_id_, {}), options_.id, 0, calls_++));
    text.append(",\"name\":");
    append_json_string(text, name);
    text.append(",\"input\":{}}");
    end_event(out);
  }

  std::string& begin_block(Block block, EventBatch& out) {
    close_block(out);
    block_ = block;
    std::string& text = begin_event("content_block_start", out);
    append_number(text.append(",\"index\":"), index_);
    return text.append(",\"content_block\":");
  }

  void add_delta(std::string_view head, std::string_view piece, EventBatch& out) const {
    std::string& text = begin_event("content_block_delta", out);
    append_number(text.append(",\"index\":"), index_);
    append_json_string(text.append(",\"delta\":").append(head), piece);
    text.push_back('}');
    end_event(out);
  }

  void close_block(EventBatch& out) {
    if (std::exchange(block_, Block::kNone) == Block::kNone) return;
    append_number(begin_event("content_block_stop", out).append(",\"index\":"), index_++);
    end_event(out);
  }

  static std::string& begin_event(std::string_view type, EventBatch& out) {
    out.begin(type);
    return out.text().append("{\"type\":\"").append(type).append("\"");
  }
  static void end_event(EventBatch& out) {
    out.text().push_back('}');
    out.end();
  }

  const MessageOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  std::int32_t prompt_tokens_ = 0;
  bool begun_ = false;
  Block block_ = Block::kNone;  // the block that has begun
  std::int64_t index_ = 0;      // index of the open block, or of the next one
  std::size_t calls_ = 0;
  std::string call_id_;  // the model's own id for the next call
};

}  // namespace

std::unique_ptr<ReplyWriter> make_message_stream_writer(MessageOptions options,
                                                        std::shared_ptr<const ServedModel> model) {
  return std::make_unique<MessageStreamWriter>(std::move(options), std::move(model));
}

}  // namespace weft
