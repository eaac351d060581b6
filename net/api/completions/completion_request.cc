#include "weft/net/api/completions/completion_request.h"

#include <string>
#include <utility>

#include "weft/actors/request/stream_defaults.h"
#include "weft/net/api/completions/completion_options.h"
#include "weft/net/api/completions/prompt_scores.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/prompt_list.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/fields/structured_fields.h"
#include "weft/net/api/llama_api.h"
#include "weft/sampling/defaults.h"

namespace weft {
namespace {

void take_completion_logprobs(BodyFields& fields, Request& request) {
  const auto top = fields.integer("logprobs", 0, defaults::kMaxUserTopLogprobs);
  request.sampling.logprobs = top.has_value();
  request.sampling.top_logprobs = static_cast<std::int32_t>(top.value_or(0));
}

/// Takes `max_tokens`. 0 computes the prompt alone, for a client that wants an echo of it. The
/// engine still generates one token, which the answer leaves out.
void take_output_bound(BodyFields& fields, bool echo, CompletionOptions& options,
                       Request& request) {
  const auto bound = fields.integer("max_tokens", 0, kMaxStreamTokens);
  request.max_tokens = static_cast<std::int32_t>(bound.value_or(0));
  if (!bound || *bound > 0) return;
  if (!echo && options.prompt_top < 0) {
    return fields.fail("max_tokens", "is 0, which goes with echo or prompt_logprobs alone");
  }
  options.generate = false;
  request.max_tokens = 1;
}

void refuse_unsupported_completion_fields(BodyFields& fields) {
  refuse_tools(fields);
  allow_only(fields, {{"include_stop_str_in_output", false}, {"add_special_tokens", true}});
  const auto suffix = fields.text("suffix");
  if (suffix && !suffix->empty()) {
    fields.fail("suffix", "is not supported", api_code::kUnsupported);
  }
  take_harmless_fields(fields, FieldPlace::kRequest);
  take_harmless_fields(fields, FieldPlace::kCompletion);
}

/// Returns the texts of the prompts, which `echo` puts before the outputs.
ApiResult<std::vector<std::string>> echoes(const std::vector<Request>& parts,
                                           const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (const Request& part : parts) {
    if (part.prompt_tokens.empty()) {
      texts.push_back(part.prompt);
      continue;
    }
    auto text = tokenizer.decode(part.prompt_tokens, part.skip_special_tokens);
    if (!text) return bad_field("prompt", to_string(text.error()));
    texts.push_back(*std::move(text));
  }
  return texts;
}

/// Copies the fields that all prompts share to each of them.
void share(const Request& request, std::vector<Request>& parts) {
  for (Request& part : parts) {
    std::string prompt = std::move(part.prompt);
    std::vector<TokenId> tokens = std::move(part.prompt_tokens);
    part = request;
    part.prompt = std::move(prompt);
    part.prompt_tokens = std::move(tokens);
  }
}

}  // namespace

ApiResult<CompletionRequest> read_completion(simdjson::dom::object body,
                                             const ApiContext& context) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  CompletionRequest result;
  CompletionOptions& options = result.options;
  options = take_options(fields, context, "cmpl-");
  Request request = take_request(fields, context);
  take_lora(fields, context.card, request);
  const bool echo = fields.flag("echo").value_or(false);
  if (echo) need_tokenizer(fields, "echo", model);
  take_prompt_logprobs(fields, options);
  take_output_bound(fields, echo, options, request);
  take_response_format(fields, request);
  take_structured_outputs(fields, request);
  options.service_tier = take_service_tier(fields, context, request.request_class);
  take_completion_logprobs(fields, request);
  result.parts = take_prompts(fields, model);
  refuse_unsupported_completion_fields(fields);
  check_request(fields, request, model, result.parts.size());
  if (auto error = fields.finish()) return *std::move(error);
  share(request, result.parts);
  ask_for_prompt_ids(options, result.parts);
  if (echo) {
    auto texts = echoes(result.parts, model.tokenizer);
    if (!texts) return texts.error();
    options.echo = *std::move(texts);
  }
  options.echo_logprobs = echo && request.sampling.logprobs;
  options.echo_has_special =
      !request.skip_special_tokens && !result.parts.front().prompt_tokens.empty();
  ask_for_prompt_logprobs(result, options.echo_logprobs ? request.sampling.top_logprobs : -1,
                          request.sampling.n);
  options.logprobs = request.sampling.logprobs;
  options.top_logprobs = request.sampling.top_logprobs;
  options.outputs_per_part = request.sampling.n;
  return result;
}

}  // namespace weft
