#include "weft/net/api/ollama/ollama_request.h"

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/net/api/fields/structured_fields.h"
#include "weft/net/api/fields/time_text.h"
#include "weft/net/api/ollama/ollama_messages.h"
#include "weft/net/api/ollama/ollama_models.h"
#include "weft/net/api/ollama/ollama_options.h"
#include "weft/net/api/tools/thinking_fields.h"
#include "weft/net/api/tools/tool_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Takes `think`: a flag, or a level, which is a reasoning_effort.
void take_think(BodyFields& fields, const ServedModel& model, Request& request) {
  const auto think = fields.any("think");
  bool wanted = false;
  if (!think) return;
  if (think->get(wanted) == simdjson::SUCCESS) return set_thinking(request, wanted);
  if (!think->is_string()) {
    return fields.fail("think", "must be true, false or a level", api_code::kInvalidType);
  }
  take_reasoning_effort(fields, "think", model.tokenizer.chat_template(), request);
  set_thinking(request, true);
}

/// Whether `keep_alive` asks to unload the model: 0 in any of its notations.
bool is_unload(const BodyFields& fields) {
  const auto time = fields.any("keep_alive");
  if (!time) return false;
  double seconds = 1;
  std::string_view text;
  if (time->get(seconds) == simdjson::SUCCESS) return seconds == 0;
  return time->get(text) == simdjson::SUCCESS && (text == "0" || text == "0s" || text == "0m");
}

/// Takes the fields that both endpoints share.
Request take_shared(BodyFields& fields, const ApiContext& context, OllamaOptions& options) {
  options.model = take_ollama_model(fields, context.card);
  options.created_at = rfc3339(context.created);
  options.id = "ollama-" + context.id;
  options.stream = fields.flag("stream").value_or(true);
  Request request = take_ollama_options(fields, context);
  take_logprobs(fields, request.sampling);
  options.logprobs = request.sampling.logprobs;
  take_think(fields, *context.card.model, request);
  request.drop_oldest_messages = fields.flag("truncate").value_or(true);
  take_ollama_format(fields, request);
  take_harmless_fields(fields, FieldPlace::kOllama);
  return request;
}

/// The assistant's last message is continued, because Ollama's templates leave it open. A message
/// with calls is complete.
void continue_last_message(Request& request) {
  if (request.messages.empty()) return;
  const boost::json::object& last = request.messages.back().as_object();
  if (last.at("role") != "assistant" || last.contains("tool_calls")) return;
  request.continue_final_message = true;
  request.add_generation_prompt = false;
}

/// A body without messages or a prompt makes no part: Ollama's clients load a model this way.
OllamaRequest request_of(BodyFields& fields, Request request, OllamaOptions options) {
  OllamaRequest result{.options = std::move(options)};
  if (request.prompt.empty() && request.messages.empty()) {
    result.options.done_reason = is_unload(fields) ? "unload" : "load";
  } else {
    result.parts.push_back(std::move(request));
  }
  return result;
}

}  // namespace

ApiResult<OllamaRequest> read_ollama_chat(dom::object body, const ApiContext& context) {
  BodyFields fields(body);
  OllamaOptions options{.chat = true};
  Request request = take_shared(fields, context, options);
  refuse_without_template(fields, *context.card.model);
  request.messages = take_ollama_messages(fields, *context.card.model);
  continue_last_message(request);
  take_tools(fields, ToolDialect::kChat, *context.card.model, request);
  if (auto error = fields.finish()) return *std::move(error);
  return request_of(fields, std::move(request), std::move(options));
}

ApiResult<OllamaRequest> read_ollama_generate(dom::object body, const ApiContext& context) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  OllamaOptions options;
  Request request = take_shared(fields, context, options);
  const std::string_view prompt = fields.text("prompt").value_or(std::string_view());
  const std::string_view system = fields.text("system").value_or(std::string_view());
  // A model without a template continues texts, as Ollama does with the template {{ .Prompt }}.
  const bool raw = fields.flag("raw").value_or(false) || model.tokenizer.chat_template().empty();
  request.typed_output = !raw;
  if (raw) {
    request.prompt = prompt;
    request.chat_template_kwargs.clear();
    if (!system.empty()) {
      fields.fail("system", "wants a chat template, without raw", api_code::kUnsupported);
    }
  } else if (!prompt.empty()) {
    refuse_without_template(fields, model);
    if (!system.empty()) request.messages.push_back(message_of("system", system));
    request.messages.push_back(message_of("user", prompt));
  }
  if (auto error = fields.finish()) return *std::move(error);
  return request_of(fields, std::move(request), std::move(options));
}

}  // namespace weft
