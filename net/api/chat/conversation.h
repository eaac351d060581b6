#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// A conversation as the model's chat template gets it: objects with role (system, developer,
/// user, assistant or tool) and content (text; parts are joined by newlines), and the
/// tool_call_id of a tool's message. `developer` becomes `system` where the template does not know
/// that name. Mistakes stay in `fields`.

/// `messages` of the chat API: one or more.
[[nodiscard]] boost::json::array take_messages(BodyFields& fields, const ServedModel& model);

/// `input` of the Responses API: a text, or a list of message items.
[[nodiscard]] boost::json::array take_input(BodyFields& fields, const ServedModel& model);

/// 400 "unsupported" about no field when the model's chat template cannot be used: no conversation
/// of any client could. Says where it is wrong, and in which file not.
void refuse_without_template(BodyFields& fields, const ServedModel& model);

[[nodiscard]] boost::json::object message_of(std::string_view role, std::string_view content);

/// `chat_template_kwargs`. Those in kServerTemplateVariables are refused here, and the ChatEncoder
/// refuses all that are not in kRequestTemplateVariables.
[[nodiscard]] boost::json::object take_template_kwargs(BodyFields& fields);

}  // namespace weft
