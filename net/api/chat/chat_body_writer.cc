#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/chat/chat_writer.h"
#include "weft/net/api/completions/completion_parts.h"
#include "weft/net/api/completions/prompt_scores.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/token_logprobs.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/net/api/tools/typed_answer.h"

namespace weft {
namespace {

class ChatBodyWriter final : public ReplyWriter {
 public:
  ChatBodyWriter(CompletionOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)), model_(std::move(model)), logprobs_(model_) {
    if (options_.tokens_as_ids) logprobs_.show_ids();
  }

  void begin(EventBatch& /*out*/) override {}

  void delta(std::size_t part, const Delta& delta, EventBatch& /*out*/) override {
    Output& output = at(part, static_cast<std::size_t>(delta.choice));
    output.answer.add(delta);
    if (options_.token_ids) {
      output.ids.insert(output.ids.end(), delta.tokens.begin(), delta.tokens.end());
    }
    if (!options_.logprobs) return;
    for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
      if (piece.kind == PieceKind::kText) logprobs_.append(delta, piece.text, output.logprobs);
    });
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    out.begin();
    std::string& text = out.text();
    text.append(completion_head(options_, "chat.completion"));
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (std::size_t choice = 0; choice < outputs(); ++choice) {
        if (part + choice > 0) text.push_back(',');
        append_choice(part, choice, parts[part], text);
      }
    }
    text.append("],\"usage\":");
    append_completion_usage(total_usage(options_, parts), text);
    append_prompt_logprobs(options_, 0, *model_, text);  // a chat is one prompt
    append_prompt_ids(options_, 0, text);
    text.push_back('}');
    out.end();
  }

  void fail(const ApiError& /*error*/, std::span<const Finish> /*parts*/,
            EventBatch& /*out*/) override {}

 private:
  struct Output {
    TypedAnswer answer;
    std::string logprobs;      // logprobs of the content's tokens, as JSON
    std::vector<TokenId> ids;  // only with token_ids
  };

  [[nodiscard]] std::size_t outputs() const noexcept {
    return static_cast<std::size_t>(options_.outputs_per_part);
  }

  Output& at(std::size_t part, std::size_t choice) {
    const std::size_t index = part * outputs() + choice;
    if (index >= kept_.size()) kept_.resize(index + 1);
    return kept_[index];
  }

  void append_choice(std::size_t part, std::size_t choice, const Finish& finish,
                     std::string& text) {
    const Output& output = at(part, choice);
    const std::size_t index = part * outputs() + choice;
    text.append("{\"index\":");
    append_number(text, static_cast<std::int64_t>(index));
    text.append(",\"message\":{\"role\":\"assistant\",\"content\":");
    append_message(output.answer, index, text);
    text.append(",\"refusal\":null},\"logprobs\":");
    if (options_.logprobs) {
      append_chat_logprobs(output.logprobs, text);
    } else {
      text.append("null");
    }
    text.push_back(',');
    append_finish(finish, choice, *model_, text, calls_reason(options_));
    if (options_.token_ids) append_ids("token_ids", output.ids, text);
    text.push_back('}');
  }

  void append_message(const TypedAnswer& answer, std::size_t index, std::string& text) const {
    if (answer.text.empty() && !answer.calls.empty()) {
      text.append("null");
    } else {
      append_json_string(text, answer.text);
    }
    if (!answer.reasoning.empty()) {
      append_json_string(text.append(",\"reasoning_content\":"), answer.reasoning);
    }
    if (answer.calls.empty()) return;
    if (options_.older_calls) return append_older_call(answer.calls.front(), text);
    text.append(",\"tool_calls\":");
    for (std::size_t i = 0; i < answer.calls.size(); ++i) {
      text.append(i == 0 ? "[" : ",").append("{\"id\":");
      append_json_string(text, call_id(answer.calls[i].id, options_.id, index, i));
      text.append(",\"type\":\"function\",\"function\":{\"name\":");
      append_json_string(text, answer.calls[i].name);
      append_json_string(text.append(",\"arguments\":"), answer.calls[i].arguments);
      text.append("}}");
    }
    text.push_back(']');
  }

  static void append_older_call(const TypedAnswer::Call& call, std::string& text) {
    append_json_string(text.append(",\"function_call\":{\"name\":"), call.name);
    append_json_string(text.append(",\"arguments\":"), call.arguments);
    text.push_back('}');
  }

  const CompletionOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  TokenLogprobWriter logprobs_;
  std::vector<Output> kept_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_chat_body_writer(CompletionOptions options,
                                                   std::shared_ptr<const ServedModel> model) {
  return std::make_unique<ChatBodyWriter>(std::move(options), std::move(model));
}

std::unique_ptr<ReplyWriter> make_chat_writer(CompletionOptions options,
                                              std::shared_ptr<const ServedModel> model) {
  return options.stream ? make_chat_stream_writer(std::move(options), std::move(model))
                        : make_chat_body_writer(std::move(options), std::move(model));
}

void append_chat_logprobs(std::string_view content, std::string& out) {
  out.append("{\"content\":[").append(content).append("],\"refusal\":null}");
}

}  // namespace weft
