#include "weft/net/api/completions/completion_parts.h"

#include <algorithm>
#include <cstdint>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/guess_usage.h"

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
    total.accepted_guesses += usage.accepted_guesses;
    total.rejected_guesses += usage.rejected_guesses;
  }
  return total;
}

/// Appends the numbers of thoughts' tokens and of guesses, where there are any.
void append_completion_details(const Usage& usage, std::string& out) {
  const bool guessed = usage.accepted_guesses > 0 || usage.rejected_guesses > 0;
  if (usage.reasoning_tokens == 0 && !guessed) return;
  out.append(",\"completion_tokens_details\":{\"reasoning_tokens\":");
  append_number(out, usage.reasoning_tokens);
  append_guess_usage(usage, out);
  out.push_back('}');
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
  append_completion_details(usage, out);
  out.push_back('}');
}

void append_finish(const Finish& part, std::size_t choice, const ServedModel& model,
                   std::string& out, std::string_view calls) {
  const ChoiceEnd none{.reason = part.reason};
  const ChoiceEnd& end = choice < part.choices.size() ? part.choices[choice] : none;
  out.append("\"finish_reason\":\"");
  if (end.reason == FinishReason::kLength) {
    out.append("length");
  } else {
    const bool cut = end.in_call && !end.stop.empty();
    out.append(end.calls > 0 && !cut ? calls : "stop");
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

void append_ids(std::string_view name, std::span<const TokenId> ids, std::string& out) {
  out.append(",\"").append(name).append("\":[");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_number(out, ids[i]);
  }
  out.push_back(']');
}

void append_prompt_ids(const CompletionOptions& options, std::size_t part, std::string& out) {
  if (part >= options.prompt_ids.size() || !options.prompt_ids[part]->known()) return;
  append_ids("prompt_token_ids", options.prompt_ids[part]->tokens(), out);
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
