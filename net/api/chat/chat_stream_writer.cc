#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/chat/chat_writer.h"
#include "weft/net/api/completions/chunk_usage.h"
#include "weft/net/api/completions/completion_parts.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/token_logprobs.h"
#include "weft/net/api/tools/call_id.h"

namespace weft {
namespace {

class ChatStreamWriter final : public ReplyWriter {
 public:
  ChatStreamWriter(CompletionOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)),
        model_(std::move(model)),
        logprobs_(model_),
        head_(completion_head(options_, "chat.completion.chunk")),
        before_index_(head_ + "{\"index\":"),
        usage_(options_) {
    if (options_.tokens_as_ids) logprobs_.show_ids();
  }

  void admit(std::size_t part, std::int32_t prompt_tokens) override {
    usage_.admit(part, prompt_tokens);
  }

  void begin(EventBatch& out) override {
    for (std::size_t choice = 0; choice < outputs(); ++choice) {
      std::string& text = begin_chunk(choice, out);
      if (choice == 0) tell_prompt(text);
      text.append("\"role\":\"assistant\",\"content\":\"\"");
      end_delta(choice, out);
    }
  }

  void delta(std::size_t part, const Delta& delta, EventBatch& out) override {
    const std::size_t index = part * outputs() + static_cast<std::size_t>(delta.choice);
    usage_.add(index, delta.tokens.size());
    if (options_.token_ids) ids_.assign(delta.tokens.begin(), delta.tokens.end());
    for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
      if (options_.logprobs && piece.kind == PieceKind::kText) {
        logprobs_.append(delta, piece.text, token_logprobs_);
      }
      add_piece(index, piece, out);
      token_logprobs_.clear();
    });
    if (!ids_.empty()) add_piece(index, {}, out);  // sends ids of tokens without text
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      usage_.settle(part, parts[part].usage);
      for (std::size_t choice = 0; choice < outputs(); ++choice) {
        std::string& text = begin_chunk(part * outputs() + choice, out);
        text.append("},\"logprobs\":null,");
        append_finish(parts[part], choice, *model_, text, calls_reason(options_));
        end_chunk(part * outputs() + choice, out);
      }
    }
    add_stream_end(options_, head_, parts, out);
  }

  void fail(const ApiError& error, std::span<const Finish> /*parts*/, EventBatch& out) override {
    out.add(error_body(error));
  }

 private:
  [[nodiscard]] std::size_t outputs() const noexcept {
    return static_cast<std::size_t>(options_.outputs_per_part);
  }

  /// Begins a chunk, up to its delta's first field.
  std::string& begin_chunk(std::size_t index, EventBatch& out) {
    out.begin();
    std::string& text = out.text();
    text.append(before_index_);
    append_number(text, static_cast<std::int64_t>(index));
    text.append(",\"delta\":{");
    return text;
  }

  /// Puts the prompt's ids into a chunk that has begun, in front of its choices.
  void tell_prompt(std::string& text) const {
    constexpr std::string_view kChoices = "\"choices\":[";
    std::string ids;
    append_prompt_ids(options_, 0, ids);
    const std::size_t at = text.rfind(kChoices);
    if (ids.empty() || at == std::string::npos) return;
    text.insert(at, ids.substr(1) + ",");
  }

  /// Ends the delta and its chunk, with the logprobs of its content's tokens.
  void end_delta(std::size_t index, EventBatch& out) {
    std::string& text = out.text();
    text.append("},\"logprobs\":");
    if (token_logprobs_.empty()) {
      text.append("null");
    } else {
      append_chat_logprobs(token_logprobs_, text);
    }
    text.append(",\"finish_reason\":null");
    if (!ids_.empty()) append_ids("token_ids", ids_, text);
    ids_.clear();
    end_chunk(index, out);
  }

  void end_chunk(std::size_t index, EventBatch& out) {
    usage_.end_chunk(index, out.text());
    out.end();
  }

  void add_piece(std::size_t index, const OutputPiece& piece, EventBatch& out) {
    if (piece.kind == PieceKind::kCallEnd) return;
    if (piece.kind == PieceKind::kCallId) {
      call_id_ = piece.text;
      return;
    }
    std::string& text = begin_chunk(index, out);
    switch (piece.kind) {
      case PieceKind::kText:
      case PieceKind::kCallEnd:
      case PieceKind::kCallId:
        append_json_string(text.append("\"content\":"), piece.text);
        break;
      case PieceKind::kReasoning:
        append_json_string(text.append("\"reasoning_content\":"), piece.text);
        break;
      case PieceKind::kCallName:
        begin_call(index, piece.text, text);
        break;
      case PieceKind::kArguments:
        if (options_.older_calls) {
          append_json_string(text.append("\"function_call\":{\"arguments\":"), piece.text);
          text.push_back('}');
          break;
        }
        begin_call_delta(calls_of(index) - 1, text);
        append_json_string(text.append("\"function\":{\"arguments\":"), piece.text);
        text.append("}}]");
        break;
    }
    end_delta(index, out);
  }

  void begin_call(std::size_t index, std::string_view name, std::string& text) {
    const std::size_t call = calls_of(index)++;
    if (options_.older_calls) {
      append_json_string(text.append("\"function_call\":{\"name\":"), name);
      text.append(",\"arguments\":\"\"}");
      return;
    }
    begin_call_delta(call, text);
    text.append("\"id\":");
    append_json_string(text, call_id(std::exchange(call_id_, {}), options_.id, index, call));
    append_json_string(text.append(",\"type\":\"function\",\"function\":{\"name\":"), name);
    text.append(",\"arguments\":\"\"}}]");
  }

  static void begin_call_delta(std::size_t call, std::string& text) {
    append_number(text.append("\"tool_calls\":[{\"index\":"), static_cast<std::int64_t>(call));
    text.push_back(',');
  }

  std::size_t& calls_of(std::size_t index) {
    if (index >= calls_.size()) calls_.resize(index + 1);
    return calls_[index];
  }

  const CompletionOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  TokenLogprobWriter logprobs_;
  const std::string head_;
  const std::string before_index_;
  ChunkUsage usage_;
  std::string token_logprobs_;      // logprobs of the piece that is being added
  std::vector<TokenId> ids_;        // ids of one delta that no chunk has sent yet
  std::vector<std::size_t> calls_;  // number of calls begun, by the choice's index
  std::string call_id_;             // the model's own id for the next call
};

}  // namespace

std::unique_ptr<ReplyWriter> make_chat_stream_writer(CompletionOptions options,
                                                     std::shared_ptr<const ServedModel> model) {
  return std::make_unique<ChatStreamWriter>(std::move(options), std::move(model));
}

}  // namespace weft
