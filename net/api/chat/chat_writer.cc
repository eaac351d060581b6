#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/completions/chunk_usage.h"
#include "weft/net/api/completions/completion_parts.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/token_logprobs.h"

namespace weft {
namespace {

void append_logprobs(std::string_view content, std::string& out) {
  out.append("{\"content\":[").append(content).append("],\"refusal\":null}");
}

/// Writes chat.completion.chunk events.
class ChatStreamWriter final : public ReplyWriter {
 public:
  ChatStreamWriter(CompletionOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)),
        model_(std::move(model)),
        logprobs_(model_),
        head_(completion_head(options_, "chat.completion.chunk")),
        before_index_(head_ + "{\"index\":"),
        usage_(options_) {}

  void admit(std::size_t part, std::int32_t prompt_tokens) override {
    usage_.admit(part, prompt_tokens);
  }

  void begin(EventBatch& out) override {
    for (std::size_t choice = 0; choice < outputs(); ++choice) {
      begin_chunk(choice, out)
          .append(",\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,")
          .append("\"finish_reason\":null");
      end_chunk(choice, out);
    }
  }

  void delta(std::size_t part, const Delta& delta, EventBatch& out) override {
    const bool logprobs = options_.logprobs && !delta.tokens.empty();
    const std::size_t index = part * outputs() + static_cast<std::size_t>(delta.choice);
    usage_.add(index, delta.tokens.size());
    if (delta.text.empty() && !logprobs) return;
    std::string& text = begin_chunk(index, out);
    text.append(",\"delta\":{\"content\":");
    append_json_string(text, delta.text);
    text.append("},\"logprobs\":");
    if (logprobs) {
      token_logprobs_.clear();
      logprobs_.append(delta, token_logprobs_);
      append_logprobs(token_logprobs_, text);
    } else {
      text.append("null");
    }
    text.append(",\"finish_reason\":null");
    end_chunk(index, out);
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      usage_.settle(part, parts[part].usage);
      for (std::size_t choice = 0; choice < outputs(); ++choice) {
        std::string& text = begin_chunk(part * outputs() + choice, out);
        text.append(",\"delta\":{},\"logprobs\":null,");
        append_finish(parts[part], choice, *model_, text);
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

  std::string& begin_chunk(std::size_t index, EventBatch& out) {
    out.begin();
    std::string& text = out.text();
    text.append(before_index_);
    append_number(text, static_cast<std::int64_t>(index));
    return text;
  }

  void end_chunk(std::size_t index, EventBatch& out) {
    usage_.end_chunk(index, out.text());
    out.end();
  }

  const CompletionOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  TokenLogprobWriter logprobs_;
  const std::string head_;
  const std::string before_index_;
  ChunkUsage usage_;
  std::string token_logprobs_;  // of one delta
};

/// Writes one chat.completion.
class ChatBodyWriter final : public ReplyWriter {
 public:
  ChatBodyWriter(CompletionOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)), model_(std::move(model)), logprobs_(model_) {}

  void begin(EventBatch& /*out*/) override {}

  void delta(std::size_t part, const Delta& delta, EventBatch& /*out*/) override {
    Output& output = at(part, static_cast<std::size_t>(delta.choice));
    output.text.append(delta.text);
    if (!options_.logprobs || delta.tokens.empty()) return;
    if (!output.logprobs.empty()) output.logprobs.push_back(',');
    logprobs_.append(delta, output.logprobs);
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
    append_completion_usage(total_usage(parts), text);
    text.push_back('}');
    out.end();
  }

  void fail(const ApiError& /*error*/, std::span<const Finish> /*parts*/,
            EventBatch& /*out*/) override {}

 private:
  struct Output {
    std::string text;
    std::string logprobs;  // of its tokens, as JSON
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
    text.append("{\"index\":");
    append_number(text, static_cast<std::int64_t>(part * outputs() + choice));
    text.append(",\"message\":{\"role\":\"assistant\",\"content\":");
    append_json_string(text, output.text);
    text.append(",\"refusal\":null},\"logprobs\":");
    if (options_.logprobs) {
      append_logprobs(output.logprobs, text);
    } else {
      text.append("null");
    }
    text.push_back(',');
    append_finish(finish, choice, *model_, text);
    text.push_back('}');
  }

  const CompletionOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  TokenLogprobWriter logprobs_;
  std::vector<Output> kept_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_chat_writer(CompletionOptions options,
                                              std::shared_ptr<const ServedModel> model) {
  if (options.stream) {
    return std::make_unique<ChatStreamWriter>(std::move(options), std::move(model));
  }
  return std::make_unique<ChatBodyWriter>(std::move(options), std::move(model));
}

}  // namespace weft
