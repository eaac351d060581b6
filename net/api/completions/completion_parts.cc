#include "weft/net/api/completions/completion_parts.h"

#include <algorithm>
#include <cstdint>

#include "weft/net/api/fields/json_text.h"

namespace weft {

std::string completion_head(const CompletionOptions& options, std::string_view object) {
  std::string head = "{\"id\":";
  append_json_string(head, options.id);
  head.append(",\"object\":");
  append_json_string(head, object);
  head.append(",\"created\":");
  append_number(head, options.created);
  head.append(",\"model\":");
  append_json_string(head, options.model);
  if (!options.service_tier.empty()) {
    head.append(",\"service_tier\":");
    append_json_string(head, options.service_tier);
  }
  head.append(",\"system_fingerprint\":\"weft-" WEFT_VERSION "\",\"choices\":[");
  return head;
}

Usage told_usage(const CompletionOptions& options, const Finish& part) {
  Usage usage = part.usage;
  if (!options.generate) usage.output_tokens = 0;
  return usage;
}

Usage total_usage(const CompletionOptions& options, std::span<const Finish> parts) {
  Usage total;
  for (const Finish& part : parts) {
    const Usage usage = told_usage(options, part);
    total.prompt_tokens += usage.prompt_tokens;
    total.output_tokens += usage.output_tokens;
    total.cached_tokens += usage.cached_tokens;
    total.reasoning_tokens += usage.reasoning_tokens;
  }
  return total;
}

void append_completion_usage(const Usage& usage, std::string& out) {
  out.append("{\"prompt_tokens\":");
  append_number(out, usage.prompt_tokens);
  out.append(",\"completion_tokens\":");
  append_number(out, usage.output_tokens);
  out.append(",\"total_tokens\":");
  append_number(out, std::int64_t{usage.prompt_tokens} + usage.output_tokens);
  out.append(",\"prompt_tokens_details\":{\"cached_tokens\":");
  append_number(out, usage.cached_tokens);
  out.push_back('}');
  if (usage.reasoning_tokens > 0) {
    out.append(",\"completion_tokens_details\":{\"reasoning_tokens\":");
    append_number(out, usage.reasoning_tokens);
    out.push_back('}');
  }
  out.push_back('}');
}

void append_finish(const Finish& part, std::size_t choice, const ServedModel& model,
                   std::string& out) {
  const ChoiceEnd none{.reason = part.reason};
  const ChoiceEnd& end = choice < part.choices.size() ? part.choices[choice] : none;
  out.append("\"finish_reason\":\"");
  if (end.reason == FinishReason::kLength) {
    out.append("length");
  } else {
    const bool cut = end.in_call && !end.stop.empty();
    out.append(end.calls > 0 && !cut ? "tool_calls" : "stop");
  }
  out.append("\",\"stop_reason\":");
  if (!end.stop.empty()) {
    append_json_string(out, end.stop);
  } else if (end.stop_token != kNoToken &&
             !std::ranges::binary_search(model.end_tokens, end.stop_token)) {
    append_number(out, end.stop_token);
  } else {
    out.append("null");
  }
}

void add_stream_end(const CompletionOptions& options, std::string_view head,
                    std::span<const Finish> parts, EventBatch& out) {
  if (options.include_usage) {
    out.begin();
    out.text().append(head).append("],\"usage\":");
    append_completion_usage(total_usage(options, parts), out.text());
    out.text().push_back('}');
    out.end();
  }
  if (out.framing() == Framing::kSse) out.add("[DONE]");
}

}  // namespace weft
