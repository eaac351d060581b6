#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/error_shape.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/ollama/ollama_api.h"
#include "weft/net/api/token_logprobs.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/net/api/tools/typed_answer.h"

namespace weft {
namespace {

/// Appends the time between two moments, in nanoseconds; 0 where one of them is not set.
void append_duration(std::string_view name, TimePoint from, TimePoint to, std::string& out) {
  const bool both = from != TimePoint() && to != TimePoint() && to > from;
  out.append(",\"").append(name).append("\":");
  append_number(out, both ? std::chrono::nanoseconds(to - from).count() : 0);
}

void append_count(std::string_view name, std::int64_t count, std::string& out) {
  out.append(",\"").append(name).append("\":");
  append_number(out, count);
}

/// Appends the durations: the wait for a row is reported as the loading of the model.
void append_times(const Finish& part, std::string& out) {
  const RequestTimes& times = part.times;
  append_duration("total_duration", times.arrived, times.ended, out);
  append_duration("load_duration", times.arrived, times.started, out);
  append_count("prompt_eval_count", part.usage.prompt_tokens, out);
  append_duration("prompt_eval_duration", times.started, times.first_token, out);
  append_count("eval_count", part.usage.output_tokens, out);
  append_duration("eval_duration", times.first_token, times.ended, out);
}

/// Writes one object, or an object for each piece of the output and a last one.
class OllamaWriter final : public ReplyWriter {
 public:
  OllamaWriter(OllamaOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)), logprobs_(std::move(model)) {
    head_ = "{\"model\":";
    append_json_string(head_, options_.model);
    head_.append(",\"created_at\":");
    append_json_string(head_, options_.created_at);
  }

  void begin(EventBatch& /*out*/) override {}

  // NDJSON has no comments, so a ping is an object without text.
  void ping(EventBatch& out) override {
    begin_object(out, false).append(",\"done\":false}");
    out.end();
  }

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& out) override {
    news_.add(delta);
    if (options_.logprobs) {
      for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
        if (piece.kind == PieceKind::kText) logprobs_.append(delta, piece.text, token_logprobs_);
      });
    }
    if (!options_.stream || !has_news()) return;
    begin_object(out, false).append(",\"done\":false}");
    out.end();
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    std::string& text = begin_object(out, true);
    text.append(",\"done\":true,\"done_reason\":");
    append_json_string(text, done_reason(parts));
    if (!parts.empty()) append_times(parts.front(), text);
    text.push_back('}');
    out.end();
  }

  void fail(const ApiError& error, std::span<const Finish> /*parts*/, EventBatch& out) override {
    if (options_.stream) out.add(error_body(error, ErrorShape::kOllama));
  }

 private:
  /// Whether there is new output to send: a call is sent once it is complete.
  [[nodiscard]] bool has_news() const {
    return !news_.text.empty() || !news_.reasoning.empty() ||
           (!news_.calls.empty() && news_.calls.front().complete);
  }

  /// Begins an object with the output since the previous object. The `last` object also has a call
  /// that was cut off.
  std::string& begin_object(EventBatch& out, bool last) {
    out.begin();
    std::string& text = out.text();
    text.append(head_);
    text.append(options_.chat ? R"(,"message":{"role":"assistant","content":)" : ",\"response\":");
    append_json_string(text, news_.text);
    if (!news_.reasoning.empty()) {
      append_json_string(text.append(",\"thinking\":"), news_.reasoning);
    }
    append_calls(last, text);
    if (options_.chat) text.push_back('}');
    if (!token_logprobs_.empty()) {
      text.append(",\"logprobs\":[").append(token_logprobs_).push_back(']');
    }
    news_.text.clear();
    news_.reasoning.clear();
    token_logprobs_.clear();
    return text;
  }

  void append_calls(bool last, std::string& text) {
    std::size_t said = 0;
    for (const TypedAnswer::Call& call : news_.calls) {
      if (!call.complete && !last) break;
      text.append(said++ == 0 ? ",\"tool_calls\":[{\"id\":" : ",{\"id\":");
      append_json_string(text, call_id(call.id, options_.id, 0, static_cast<std::size_t>(calls_)));
      append_number(text.append(R"(,"function":{"index":)"), calls_++);
      append_json_string(text.append(",\"name\":"), call.name);
      text.append(",\"arguments\":").append(arguments_object(call.arguments)).append("}}");
    }
    if (said == 0) return;
    text.push_back(']');
    news_.calls.erase(news_.calls.begin(), news_.calls.begin() + static_cast<std::ptrdiff_t>(said));
  }

  [[nodiscard]] std::string_view done_reason(std::span<const Finish> parts) const {
    if (parts.empty()) return options_.done_reason;
    const Finish& part = parts.front();
    const auto reason = part.choices.empty() ? part.reason : part.choices.front().reason;
    return reason == FinishReason::kLength ? "length" : "stop";
  }

  const OllamaOptions options_;
  TokenLogprobWriter logprobs_;
  std::string head_;
  TypedAnswer news_;            // the output that was not sent yet
  std::string token_logprobs_;  // logprobs of the tokens in news_
  std::int64_t calls_ = 0;      // number of calls that were sent
};

}  // namespace

std::unique_ptr<ReplyWriter> make_ollama_writer(OllamaOptions options,
                                                std::shared_ptr<const ServedModel> model) {
  return std::make_unique<OllamaWriter>(std::move(options), std::move(model));
}

}  // namespace weft
