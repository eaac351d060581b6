#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// A conversation as the model's chat template gets it: objects with role (system, developer,
/// user, assistant or tool) and content (a text, or in the chat API a list of text parts; parts of
/// items are joined by newlines); an assistant's tool_calls and thoughts; a tool's tool_call_id and
/// name. `developer` becomes `system` where the
/// template does not know that name. Mistakes stay in `fields`.

/// Takes `messages` of the chat API: one or more.
[[nodiscard]] boost::json::array take_messages(BodyFields& fields, const ServedModel& model);

/// Takes a message item of the Responses API.
[[nodiscard]] boost::json::object take_item_message(BodyFields& item, const ServedModel& model);
/// Takes a text of such an item, or its parts.
[[nodiscard]] std::string take_item_text(BodyFields& item, std::string_view name);

/// Reports 400 "unsupported" without a field when the model's chat template cannot be used. The
/// message names the place of the template's mistake, but not its file.
void refuse_without_template(BodyFields& fields, const ServedModel& model);

/// Takes `add_generation_prompt` and `continue_final_message`, vLLM's names, and `prefix` of the
/// last message, the name that Mistral and DeepSeek use. `request` has its messages already. A last
/// message that is not from the assistant, or that has calls, cannot be continued.
void take_final_message(const BodyFields& fields, Request& request);
/// Reports a mistake in field `name` where the request wants to continue a last message that cannot
/// be continued.
void check_final_message(const BodyFields& fields, std::string_view name, const Request& request);

[[nodiscard]] boost::json::object message_of(std::string_view role, std::string_view content);

/// Returns the tokens of the prompt that a request's conversation makes. The time grows with the
/// length of the conversation.
[[nodiscard]] ApiResult<std::vector<TokenId>> prompt_tokens(Request request,
                                                            const ServedModel& model);

/// Takes `chat_template_kwargs`. The names in kServerTemplateVariables are refused.
[[nodiscard]] boost::json::object take_template_kwargs(BodyFields& fields);

}  // namespace weft
