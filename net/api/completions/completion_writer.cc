#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/net/api/completions/chunk_usage.h"
#include "weft/net/api/completions/completion_api.h"
#include "weft/net/api/completions/completion_parts.h"
#include "weft/net/api/completions/logprob_columns.h"
#include "weft/net/api/completions/prompt_scores.h"
#include "weft/net/api/fields/json_text.h"

namespace weft {
namespace {

/// Writes text_completion objects: one at the end, or one for each delta.
class CompletionWriter final : public ReplyWriter {
 public:
  CompletionWriter(CompletionOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)),
        model_(std::move(model)),
        head_(completion_head(options_, "text_completion")),
        before_text_(head_ + "{\"text\":"),
        usage_(options_) {}

  void admit(std::size_t part, std::int32_t prompt_tokens) override {
    usage_.admit(part, prompt_tokens);
  }

  void begin(EventBatch& /*out*/) override {}

  void delta(std::size_t part, const Delta& delta, EventBatch& out) override {
    if (!options_.generate) return;
    const auto choice = static_cast<std::size_t>(delta.choice);
    Output& output = at(part, choice);
    bool logprobs = tell_prompt(part, output);
    if (options_.logprobs && output.columns->add(delta)) logprobs = true;
    if (options_.token_ids) {
      output.ids.insert(output.ids.end(), delta.tokens.begin(), delta.tokens.end());
    }
    if (!options_.stream) {
      output.text.append(delta.text);
      return;
    }
    const std::size_t index = part * outputs() + choice;
    usage_.add(index, delta.tokens.size());
    if (delta.text.empty() && !logprobs && output.ids.empty()) return;
    std::string& text = begin_chunk(output, delta.text, out);
    append_middle(index, logprobs ? &*output.columns : nullptr, text);
    text.append("\"finish_reason\":null");
    append_ids_of(part, output, text);
    output.ids.clear();
    usage_.end_chunk(index, text);
    out.end();
    if (logprobs) output.columns->clear();
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    if (options_.stream) {
      end_stream(parts, out);
    } else {
      write_body(parts, out);
    }
  }

  void fail(const ApiError& error, std::span<const Finish> /*parts*/, EventBatch& out) override {
    if (options_.stream) out.add(error_body(error));
  }

 private:
  struct Output {
    std::string text;  // the whole text of a plain answer; the echo of a stream until it is sent
    std::optional<LogprobColumns> columns;
    bool prompt_told = false;  // the prompt's tokens have been put into the columns
    std::vector<TokenId> ids;  // with token_ids: all ids of a plain answer, or a stream's new ids
    bool ids_told = false;     // the ids of the prompt are written
  };

  /// Appends the ids of an output; before the first ones, the ids of the prompt.
  void append_ids_of(std::size_t part, Output& output, std::string& text) const {
    if (!options_.token_ids) return;
    if (!std::exchange(output.ids_told, true)) append_prompt_ids(options_, part, text);
    append_ids("token_ids", output.ids, text);
  }

  [[nodiscard]] std::size_t outputs() const noexcept {
    return static_cast<std::size_t>(options_.outputs_per_part);
  }

  Output& at(std::size_t part, std::size_t choice) {
    const std::size_t index = part * outputs() + choice;
    while (kept_.size() <= index) {
      const std::size_t its_part = kept_.size() / outputs();
      Output& output = kept_.emplace_back();
      if (its_part < options_.echo.size()) output.text = options_.echo[its_part];
      if (options_.logprobs) {
        const std::size_t begin = options_.echo_logprobs ? 0 : count_code_points(output.text);
        output.columns.emplace(model_, begin, options_.top_logprobs > 0);
        if (options_.tokens_as_ids) output.columns->show_ids();
      }
    }
    return kept_[index];
  }

  /// Adds the prompt's logprobs to the columns once, if the request wants them; returns whether it
  /// did. They are complete when the part has ended or given a token, except where the part was
  /// stopped.
  bool tell_prompt(std::size_t part, Output& output) {
    if (!options_.echo_logprobs || output.prompt_told) return false;
    const PromptLogprobs& prompt = *options_.prompt_logprobs[part];
    if (!prompt.complete()) return false;
    output.columns->add_prompt(prompt, static_cast<std::size_t>(options_.top_logprobs),
                               options_.echo_has_special, count_code_points(options_.echo[part]));
    output.prompt_told = true;
    return true;
  }

  /// Appends the finish reason: the output's own, or "length" for an answer without output.
  void append_end(const Finish& part, std::size_t choice, std::string& text) const {
    if (options_.generate) return append_finish(part, choice, *model_, text);
    text.append("\"finish_reason\":\"length\",\"stop_reason\":null");
  }

  std::string& begin_chunk(Output& output, std::string_view fresh, EventBatch& out) {
    out.begin();
    std::string& text = out.text();
    text.append(before_text_);
    if (output.text.empty()) {
      append_json_string(text, fresh);
    } else {
      append_json_string(text, output.text.append(fresh));
      output.text.clear();
    }
    return text;
  }

  static void append_middle(std::size_t index, const LogprobColumns* columns, std::string& text) {
    text.append(",\"index\":");
    append_number(text, static_cast<std::int64_t>(index));
    text.append(",\"logprobs\":");
    if (columns != nullptr) {
      columns->append_to(text);
    } else {
      text.append("null");
    }
    text.push_back(',');
  }

  void end_stream(std::span<const Finish> parts, EventBatch& out) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      usage_.settle(part, told_usage(options_, parts[part]));
      for (std::size_t choice = 0; choice < outputs(); ++choice) {
        Output& output = at(part, choice);
        const bool logprobs = tell_prompt(part, output);
        std::string& text = begin_chunk(output, {}, out);
        append_middle(part * outputs() + choice, logprobs ? &*output.columns : nullptr, text);
        append_end(parts[part], choice, text);
        append_ids_of(part, output, text);
        usage_.end_chunk(part * outputs() + choice, text);
        out.end();
      }
    }
    add_stream_end(options_, head_, parts, out);
  }

  void write_body(std::span<const Finish> parts, EventBatch& out) {
    out.begin();
    std::string& text = out.text();
    text.append(head_);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (std::size_t choice = 0; choice < outputs(); ++choice) {
        if (part + choice > 0) text.push_back(',');
        Output& output = at(part, choice);
        tell_prompt(part, output);
        text.append("{\"text\":");
        append_json_string(text, output.text);
        append_middle(part * outputs() + choice, output.columns ? &*output.columns : nullptr, text);
        append_end(parts[part], choice, text);
        append_ids_of(part, output, text);
        append_prompt_logprobs(options_, part, *model_, text);
        text.push_back('}');
      }
    }
    text.append("],\"usage\":");
    append_completion_usage(total_usage(options_, parts), text);
    text.push_back('}');
    out.end();
  }

  const CompletionOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  const std::string head_;
  const std::string before_text_;  // the beginning of a chunk, up to its text
  ChunkUsage usage_;
  std::vector<Output> kept_;  // outputs, by the choice's index
};

}  // namespace

std::unique_ptr<ReplyWriter> make_completion_writer(CompletionOptions options,
                                                    std::shared_ptr<const ServedModel> model) {
  return std::make_unique<CompletionWriter>(std::move(options), std::move(model));
}

}  // namespace weft
