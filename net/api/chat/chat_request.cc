#include "weft/net/api/chat/chat_request.h"

#include <string>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/chat/older_functions.h"
#include "weft/net/api/completions/completion_options.h"
#include "weft/net/api/completions/prompt_scores.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/net/api/fields/structured_fields.h"
#include "weft/net/api/llama_api.h"
#include "weft/net/api/tools/thinking_fields.h"
#include "weft/net/api/tools/tool_fields.h"

namespace weft {
namespace {

std::int32_t take_max_tokens(BodyFields& fields) {
  const std::int32_t older = take_token_bound(fields, "max_tokens");
  const std::int32_t newer = take_token_bound(fields, "max_completion_tokens");
  return newer > 0 ? newer : older;
}

void refuse_other_modalities(BodyFields& fields) {
  const auto list = fields.array("modalities");
  if (!list) return;
  for (const simdjson::dom::element entry : *list) {
    std::string_view name;
    if (entry.get(name) == simdjson::SUCCESS && name == "text") continue;
    return fields.fail("modalities", "can have \"text\" alone", api_code::kUnsupported);
  }
}

void refuse_unsupported_chat_fields(BodyFields& fields) {
  refuse_other_modalities(fields);
  allow_only(
      fields,
      {{"include_stop_str_in_output", false}, {"add_special_tokens", false}, {"echo", false}});
  if (fields.any("chat_template")) {
    fields.fail("chat_template", "is the server's to choose", api_code::kUnsupported);
  }
  take_harmless_fields(fields, FieldPlace::kRequest);
  take_harmless_fields(fields, FieldPlace::kCompletion);
}

/// Reads a body without the fields that are older than tools.
ApiResult<CompletionRequest> read_chat_of_today(simdjson::dom::object body,
                                                const ApiContext& context) {
  BodyFields fields(body);
  CompletionRequest result;
  result.options = take_options(fields, context, "chatcmpl-");
  Request request = take_request(fields, context);
  take_lora(fields, context.card, request);
  request.messages = take_messages(fields, *context.card.model);
  take_final_message(fields, request);
  request.chat_template_kwargs = take_template_kwargs(fields);
  take_tools(fields, ToolDialect::kChat, *context.card.model, request);
  static_cast<void>(take_thinking(fields, /*needs_budget=*/false, request));
  take_thinking_budget(fields, request);
  take_reasoning_effort(fields, "reasoning_effort", context.card.model->tokenizer.chat_template(),
                        request);
  request.max_tokens = take_max_tokens(fields);
  take_response_format(fields, request);
  take_structured_outputs(fields, request);
  result.options.service_tier = take_service_tier(fields, context, request.request_class);
  take_logprobs(fields, request.sampling);
  take_prompt_logprobs(fields, result.options);
  refuse_unsupported_chat_fields(fields);
  check_request(fields, request, *context.card.model);
  if (auto error = fields.finish()) return *std::move(error);
  result.options.logprobs = request.sampling.logprobs;
  result.options.top_logprobs = request.sampling.top_logprobs;
  result.options.outputs_per_part = request.sampling.n;
  result.parts.push_back(std::move(request));
  ask_for_prompt_ids(result.options, result.parts);
  ask_for_prompt_logprobs(result, -1, /*times=*/1);  // the answer has them beside the choices
  return result;
}

}  // namespace

ApiResult<CompletionRequest> read_chat(simdjson::dom::object body, const ApiContext& context) {
  if (!has_older_functions(body)) return read_chat_of_today(body, context);
  const auto text = with_tools_of_today(body);
  if (!text) return text.error();
  BodyParser parser;
  const auto changed = parser.parse(*text);
  if (!changed) return changed.error();
  auto result = read_chat_of_today(*changed, context);
  if (!result) return in_older_names(std::move(result).error());
  result->options.older_calls = offers_older_functions(body);
  return result;
}

}  // namespace weft
