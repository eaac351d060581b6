#include "weft/net/api/completions/prompt_scores.h"

#include <algorithm>
#include <memory>
#include <span>

#include "weft/actors/request/prompt_logprobs.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/token_logprobs.h"
#include "weft/sampling/defaults.h"

namespace weft {
namespace {

constexpr std::string_view kPromptLogprobs = "prompt_logprobs";

void append_scored(TokenLogprob token, std::int64_t rank, const ServedModel& model,
                   std::string& out) {
  std::string bytes;
  // an unknown token has no bytes
  static_cast<void>(model.tokenizer.append_bytes(token.token, bytes));
  append_number(out.append("\""), token.token);
  append_logprob(out.append("\":{\"logprob\":"), token.logprob);
  append_number(out.append(",\"rank\":"), rank);
  append_json_string(out.append(",\"decoded_token\":"), bytes);
  out.push_back('}');
}

void append_entry(TokenId token, const PromptLogprobs::Entry& entry, std::size_t most,
                  const ServedModel& model, std::string& out) {
  out.push_back('{');
  append_scored({token, entry.logprob}, entry.rank, model, out);
  const auto top = entry.top.first(std::min(most, entry.top.size()));
  for (std::size_t i = 0; i < top.size() && top[i].token != kNoToken; ++i) {
    if (top[i].token == token) continue;
    append_scored(top[i], static_cast<std::int64_t>(i) + 1, model, out.append(","));
  }
  out.push_back('}');
}

}  // namespace

void take_prompt_logprobs(BodyFields& fields, CompletionOptions& options) {
  const auto top = fields.integer(kPromptLogprobs, 0, defaults::kMaxUserTopLogprobs);
  if (!top) return;
  if (!options.stream) {
    options.prompt_top = static_cast<std::int32_t>(*top);
  } else if (*top > 0) {
    fields.fail(kPromptLogprobs, "above 0 is not supported with a stream", api_code::kUnsupported);
  }
}

void ask_for_prompt_logprobs(CompletionRequest& request, std::int32_t echoed_top,
                             std::int32_t times) {
  const std::int32_t top = std::max(request.options.prompt_top, echoed_top);
  if (top < 0) return;
  const std::size_t lists = request.parts.size() * static_cast<std::size_t>(std::max(times, 1));
  for (Request& part : request.parts) {
    part.prompt_logprobs =
        std::make_shared<PromptLogprobs>(top, defaults::kMaxPromptLogprobs / lists);
    request.options.prompt_logprobs.push_back(part.prompt_logprobs);
  }
}

void append_prompt_logprobs(const CompletionOptions& options, std::size_t part,
                            const ServedModel& model, std::string& out) {
  if (options.prompt_top < 0 || part >= options.prompt_logprobs.size()) return;
  out.append(",\"prompt_logprobs\":");
  const PromptLogprobs& prompt = *options.prompt_logprobs[part];
  // A request that was told to stop may have ended before its prompt was computed.
  if (!prompt.complete()) {
    out.append("null");
    return;
  }
  out.append("[null");
  for (std::size_t i = 1; i < prompt.tokens().size(); ++i) {
    append_entry(prompt.tokens()[i], prompt.entry(i), static_cast<std::size_t>(options.prompt_top),
                 model, out.append(","));
  }
  out.push_back(']');
}

}  // namespace weft
