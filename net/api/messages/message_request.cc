#include "weft/net/api/messages/message_request.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/fields/structured_fields.h"
#include "weft/net/api/messages/message_turns.h"
#include "weft/net/api/tools/thinking_fields.h"
#include "weft/net/api/tools/tool_fields.h"

namespace weft {
namespace {

constexpr RequestNames kMessageNames{.stop = "stop_sequences"};

/// Returns the class under the API's name for it.
std::string_view tier_of(const Request& request, std::string_view wished) noexcept {
  if (request.request_class == RequestClass::kBatch) return "batch";
  return wished == "priority" ? "priority" : "standard";
}

void take_output_config(const BodyFields& fields, const ServedModel& model, Request& request) {
  const auto object = fields.object("output_config");
  if (!object) return;
  BodyFields config(*object, "output_config", fields);
  take_text_format(config, request);
  take_wished_effort(config, model.tokenizer.chat_template(), request);
  take_harmless_fields(config, FieldPlace::kOutputConfig);
  config.finish();
}

/// Takes `context_management`. The server makes none of its edits. Returns whether the field is
/// present, because the answer then lists the applied edits.
bool take_context_management(const BodyFields& fields) {
  constexpr std::string_view kName = "context_management";
  const auto object = fields.object(kName);
  if (!object) return false;
  const BodyFields management(*object, std::string(kName), fields);
  if (const auto edits = management.array("edits")) {
    std::size_t index = 0;
    for (const simdjson::dom::element entry : *edits) {
      const BodyFields edit(entry.get_object(), management.path_of(indexed("edits", index++)),
                            management);
      static_cast<void>(edit.needed_text("type"));
      if (edit.error()) break;
    }
  }
  management.finish();
  return true;
}

void refuse_unsupported_message_fields(BodyFields& fields, const SamplingParams& sampling) {
  if (fields.has("thread")) {
    fields.fail("thread", "is not supported: send the whole conversation", api_code::kNoThreads);
  }
  if (sampling.n != 1) fields.fail("n", "must be 1", api_code::kUnsupported);
  take_harmless_fields(fields, FieldPlace::kRequest);
  take_harmless_fields(fields, FieldPlace::kMessages);
}

/// An assistant's message at the end is the beginning of an answer, which the model continues.
void continue_prefill(Request& request) {
  if (request.messages.empty()) return;
  request.continue_final_message = request.messages.back().at("role") == "assistant";
  request.add_generation_prompt = !request.continue_final_message;
}

std::int32_t take_message_bound(BodyFields& fields, MessageUse use) {
  const std::int32_t most = take_token_bound(fields, "max_tokens");
  if (most == 0 && use == MessageUse::kAnswer) {
    fields.fail("max_tokens", "is missing", api_code::kMissing);
  }
  return most;
}

}  // namespace

ApiResult<MessageRequest> read_messages(simdjson::dom::object body, const ApiContext& context,
                                        MessageUse use) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  MessageRequest result;
  MessageOptions& options = result.options;
  options.id = "msg_" + context.id;
  options.model = take_model(fields, context.card);
  options.stream = fields.flag("stream").value_or(false);
  Request request = take_request(fields, context, kMessageNames);
  request.messages = take_turns(fields, model);
  continue_prefill(request);
  check_final_message(fields, "messages", request);
  request.chat_template_kwargs = take_template_kwargs(fields);
  request.max_tokens = take_message_bound(fields, use);
  request.clip_max_tokens = true;
  const std::string tier = take_service_tier(fields, context, request.request_class);
  take_tools(fields, ToolDialect::kMessages, model, request);
  options.show_thinking = take_thinking(fields, /*needs_budget=*/true, request);
  take_output_config(fields, model, request);
  options.tells_edits = take_context_management(fields);
  refuse_unsupported_message_fields(fields, request.sampling);
  check_request(fields, request, model, 1, kMessageNames);
  if (auto error = fields.finish()) return *std::move(error);
  options.max_tokens = request.max_tokens;
  options.service_tier = tier_of(request, tier);
  result.parts.push_back(std::move(request));
  return result;
}

}  // namespace weft
