#include "weft/net/api/responses/response_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/chat/fitted_roles.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/net/api/fields/structured_fields.h"
#include "weft/net/api/responses/response_conversation.h"
#include "weft/net/api/responses/response_store.h"
#include "weft/net/api/tools/thinking_fields.h"
#include "weft/net/api/tools/tool_fields.h"
#include "weft/sampling/defaults.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

json::value text_or_null(std::optional<std::string_view> text) {
  if (!text) return nullptr;
  return json::value(*text);
}

json::object take_metadata(BodyFields& fields) {
  json::object pairs;
  const auto object = fields.object("metadata");
  if (!object) return pairs;
  for (const dom::key_value_pair entry : *object) {
    std::string_view value;
    if (entry.value.get(value) != simdjson::SUCCESS) {
      fields.fail("metadata", "must have strings as values", api_code::kInvalidType);
    } else if (entry.key.size() > defaults::kMaxMetadataKeyBytes ||
               value.size() > defaults::kMaxMetadataValueBytes) {
      fields.fail("metadata", "may have keys of " + std::to_string(defaults::kMaxMetadataKeyBytes) +
                                  " bytes and values of " +
                                  std::to_string(defaults::kMaxMetadataValueBytes));
    } else if (pairs.size() == defaults::kMaxMetadata) {
      fields.fail("metadata", "may have " + std::to_string(defaults::kMaxMetadata) + " pairs");
    }
    if (fields.error()) return {};
    pairs.emplace(entry.key, value);
  }
  return pairs;
}

/// Values of `include` for items that no answer of this server has. Codex and openai-agents send
/// the first one by default.
constexpr std::array<std::string_view, 7> kAbsentIncludes = {
    "reasoning.encrypted_content",   "file_search_call.results",
    "web_search_call.results",       "web_search_call.action.sources",
    "code_interpreter_call.outputs", "computer_call_output.output.image_url",
    "message.input_image.image_url",
};

/// Returns whether "message.output_text.logprobs" is asked for. Nothing else can be included.
bool take_include(BodyFields& fields) {
  const auto list = fields.array("include");
  bool logprobs = false;
  if (!list) return logprobs;
  std::size_t index = 0;
  for (const dom::element entry : *list) {
    std::string_view name;
    if (entry.get(name) != simdjson::SUCCESS) {
      fields.fail(indexed("include", index), "must be a string", api_code::kInvalidType);
    } else if (name == "message.output_text.logprobs") {
      logprobs = true;
    } else if (std::ranges::find(kAbsentIncludes, name) == kAbsentIncludes.end()) {
      fields.fail(indexed("include", index), shown(name) + " is not supported",
                  api_code::kUnsupported);
    }
    if (fields.error()) return false;
    ++index;
  }
  return logprobs;
}

void take_response_logprobs(BodyFields& fields, SamplingParams& sampling) {
  const auto top = fields.integer("top_logprobs", 0, defaults::kMaxUserTopLogprobs).value_or(0);
  sampling.top_logprobs = static_cast<std::int32_t>(top);
  sampling.logprobs = take_include(fields) || top > 0;
}

/// Takes `reasoning`: how hard the model shall think, where its template has a variable for it.
/// Returns the value of `reasoning` in the response.
json::value take_reasoning(BodyFields& fields, const ServedModel& model, Request& request) {
  const auto object = fields.object("reasoning");
  if (!object) return nullptr;
  BodyFields reasoning(*object, "reasoning", fields);
  take_reasoning_effort(reasoning, "effort", model.tokenizer.chat_template(), request);
  // Thoughts are shown unchanged, so there is no summary, and no other encryption.
  reasoning.ignore({"summary", "generate_summary", "context"});
  const auto effort = reasoning.text("effort");
  reasoning.finish();
  return json::object{{"effort", text_or_null(effort)}, {"summary", nullptr}};
}

bool is_function(const json::value& tool) {
  const json::object* const object = tool.if_object();  // a tool that is no object is refused
  const json::value* const type = object == nullptr ? nullptr : object->if_contains("type");
  return type != nullptr && *type == "function";
}

/// Repeats the request's tools in the response, with null for each field that the request leaves
/// out, because a response names all fields of a function.
void echo_tools(BodyFields& fields, json::object& echo) {
  const auto tools = fields.any("tools");
  json::value list = tools ? to_json(*tools) : json::value(json::array());
  if (json::array* const entries = list.if_array()) {
    for (json::value& entry : *entries) {
      if (!is_function(entry)) continue;
      for (const char* name : {"description", "parameters", "strict"}) {
        entry.as_object().emplace(name, nullptr);
      }
    }
  }
  echo["tools"] = std::move(list);
  const auto choice = fields.any("tool_choice");
  echo["tool_choice"] = choice ? to_json(*choice) : json::value("auto");
}

/// Takes `text`. The answer echoes its format unchanged.
void take_text(BodyFields& fields, Request& request, json::object& echo) {
  echo["text"] = json::object{{"format", json::object{{"type", "text"}}}};
  const auto object = fields.object("text");
  if (!object) return;
  BodyFields text(*object, "text", fields);
  take_text_format(text, request);
  if (request.structured_output) {
    if (const auto format = text.any("format"))
      echo["text"].as_object()["format"] = to_json(*format);
  }
  take_harmless_fields(text, FieldPlace::kResponseText);
  text.finish();
}

/// Takes `truncation`: whether the oldest messages may be left out.
bool take_truncation(BodyFields& fields, json::object& echo) {
  const std::string_view name = fields.text("truncation").value_or("disabled");
  if (name != "auto" && name != "disabled") {
    fields.fail("truncation", shown(name) + " is neither auto nor disabled");
  }
  echo["truncation"] = name;
  return name == "auto";
}

/// Takes `stream` and `background` and adds them to the echo. On a WebSocket every answer streams,
/// and none is made in the background.
bool take_stream(BodyFields& fields, const ApiContext& context, json::object& echo) {
  echo["background"] = false;
  if (context.websocket) {
    fields.ignore({"type", "stream_id", "generate"});  // fields of the message, which were read
                                                       // earlier
    allow_only(fields, {{"stream", true}, {"background", false}});
    return true;
  }
  const bool stream = fields.flag("stream").value_or(false);
  const bool background = fields.flag("background").value_or(false);
  echo["background"] = background;
  if (background && stream) {
    fields.fail("stream", "is not supported in the background", api_code::kUnsupported);
  }
  if (background && !echo["store"].as_bool()) {
    fields.fail("store", "must be true in the background: what is not kept cannot be fetched");
  }
  return stream;
}

void refuse_unsupported_response_fields(BodyFields& fields, const SamplingParams& sampling) {
  if (sampling.n != 1) fields.fail("n", "must be 1", api_code::kUnsupported);
  allow_only(fields, {{"include_stop_str_in_output", false}});
}

/// Copies the response object's fields that do not change from the request.
void echo_fields(BodyFields& fields, const ApiContext& context, json::object& echo) {
  echo["model"] = take_model(fields, context.card);
  echo["instructions"] = text_or_null(fields.text("instructions"));
  echo["metadata"] = take_metadata(fields);
  echo["previous_response_id"] = text_or_null(fields.text("previous_response_id"));
  echo["store"] = fields.flag("store").value_or(true);
  echo["safety_identifier"] = text_or_null(fields.text("safety_identifier"));
  echo["prompt_cache_key"] = text_or_null(fields.text("prompt_cache_key"));
  echo_tools(fields, echo);
  echo["parallel_tool_calls"] = fields.flag("parallel_tool_calls").value_or(true);
  const auto calls = fields.integer("max_tool_calls", 0, std::numeric_limits<std::int64_t>::max());
  echo["max_tool_calls"] = calls ? json::value(*calls) : json::value();
}

void echo_request(const Request& request, std::string_view tier, json::object& echo) {
  echo["max_output_tokens"] =
      request.max_tokens > 0 ? json::value(request.max_tokens) : json::value();
  const bool batch = request.request_class == RequestClass::kBatch;
  echo["service_tier"] = tier.empty() ? std::string_view(batch ? "flex" : "default") : tier;
  echo["top_logprobs"] = request.sampling.top_logprobs;
  echo["stop"] = json::array(request.stop.begin(), request.stop.end());
  echo["skip_special_tokens"] = request.skip_special_tokens;
  echo["priority"] = request.priority;
  echo["chat_template_kwargs"] = request.chat_template_kwargs;
  echo_sampling(request.sampling, echo);
}

ResponseOptions options_of(const ApiContext& context, json::object echo, bool generate) {
  ResponseOptions options;
  options.id = "resp_" + context.id;
  options.message_id = "msg_" + context.id;
  options.stream_id = context.stream_id;
  options.generate = generate;
  options.created = context.created;
  options.owner = context.client;
  options.store = echo["store"].as_bool() ? context.stored : context.local;
  options.local = context.local;
  options.background = echo["background"].as_bool();
  if (const auto* id = echo["previous_response_id"].if_string()) options.previous_id = *id;
  options.echo = std::move(echo);
  return options;
}

}  // namespace

ApiResult<ResponseRequest> read_response(dom::object body, const ApiContext& context,
                                         const StoredResponse* previous, bool generate) {
  BodyFields fields(body);
  json::object echo;
  Request request = take_request(fields, context);
  ToolOrigins tools = take_tools(fields, ToolDialect::kResponses, *context.card.model, request);
  echo_fields(fields, context, echo);
  const bool stream = take_stream(fields, context, echo);
  request.drop_oldest_messages = take_truncation(fields, echo);
  request.max_tokens = take_token_bound(fields, "max_output_tokens");
  request.chat_template_kwargs = take_template_kwargs(fields);
  take_thinking_budget(fields, request);
  echo["reasoning"] = take_reasoning(fields, *context.card.model, request);
  const std::string tier = take_service_tier(fields, context, request.request_class);
  take_response_logprobs(fields, request.sampling);
  take_text(fields, request, echo);
  take_structured_outputs(fields, request);
  json::array conversation = take_conversation(fields, context, previous);
  refuse_unsupported_response_fields(fields, request.sampling);
  take_harmless_fields(fields, FieldPlace::kRequest);
  take_harmless_fields(fields, FieldPlace::kResponse);
  check_request(fields, request, *context.card.model);
  if (auto error = fields.finish()) return *std::move(error);

  echo_request(request, tier, echo);
  request.messages = fitted_roles(with_instructions(echo["instructions"], conversation),
                                  context.card.model->chat.roles());
  ResponseRequest result;
  result.options = options_of(context, std::move(echo), generate);
  result.options.conversation_bytes = conversation_bytes(conversation);
  result.options.conversation = std::move(conversation);
  result.options.tools = std::make_shared<const ToolOrigins>(std::move(tools));
  result.options.logprobs = request.sampling.logprobs;
  result.options.structured = static_cast<bool>(request.structured_output);
  // The engine computes the prompt in either case. Without output it generates one token, which the
  // answer leaves out.
  if (!generate) request.max_tokens = 1;
  result.parts.push_back(std::move(request));
  result.framing = stream ? Framing::kSse : Framing::kBody;
  if (context.websocket) result.framing = Framing::kWebSocket;
  return result;
}

}  // namespace weft
