#include "weft/net/api/messages/message_parts.h"

#include <cstdint>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/messages/messages_api.h"

namespace weft {

void append_message_usage(const Usage& usage, std::string_view tier, std::string& out) {
  out.append("{\"input_tokens\":");
  append_number(out, usage.prompt_tokens - usage.cached_tokens);
  out.append(R"(,"cache_creation_input_tokens":0,"cache_read_input_tokens":)");
  append_number(out, usage.cached_tokens);
  out.append(",\"output_tokens\":");
  append_number(out, usage.output_tokens);
  if (usage.reasoning_tokens > 0) {
    out.append(",\"output_tokens_details\":{\"thinking_tokens\":");
    append_number(out, usage.reasoning_tokens);
    out.push_back('}');
  }
  if (!tier.empty()) {
    out.append(",\"service_tier\":");
    append_json_string(out, tier);
  }
  out.push_back('}');
}

MessageEnd message_end_of(const Finish& part, const MessageOptions& options,
                          const ServedModel& model) {
  const ChoiceEnd none{.reason = part.reason};
  const ChoiceEnd& end = part.choices.empty() ? none : part.choices.front();
  if (!end.stop.empty()) return {"stop_sequence", part.choices.front().stop};
  if (end.reason != FinishReason::kLength) return {end.calls > 0 ? "tool_use" : "end_turn"};
  // The output filled the context before it reached the request's bound.
  const bool full = std::int64_t{part.usage.prompt_tokens} + options.max_tokens > model.context;
  return {full ? "model_context_window_exceeded" : "max_tokens"};
}

void append_message_end(const MessageEnd& end, std::string& out) {
  out.append("\"stop_reason\":");
  append_json_string(out, end.reason);
  out.append(",\"stop_sequence\":");
  append_json_string_or_null(out, end.stop);
}

void append_message_edits(const MessageOptions& options, std::string& out) {
  if (options.tells_edits) out.append(R"(,"context_management":{"applied_edits":[]})");
}

void append_message_head(const MessageOptions& options, std::string& out) {
  out.append("{\"id\":");
  append_json_string(out, options.id);
  out.append(R"(,"type":"message","role":"assistant","model":)");
  append_json_string(out, options.model);
  out.append(",\"content\":[");
}

std::unique_ptr<ReplyWriter> make_message_writer(MessageOptions options,
                                                 std::shared_ptr<const ServedModel> model) {
  return options.stream ? make_message_stream_writer(std::move(options), std::move(model))
                        : make_message_body_writer(std::move(options), std::move(model));
}

}  // namespace weft
