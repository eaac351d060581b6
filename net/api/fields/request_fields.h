#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "weft/actors/request/request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// What all the APIs have alike. Each function takes its fields and leaves mistakes in `fields`.

/// `model`; absent means the served one. 404 "model_not_found" for another.
[[nodiscard]] std::string take_model(BodyFields& fields, const ModelCard& card);

/// `stop`, `skip_special_tokens`, `priority` and every sampling field; client and timeout from the
/// context. `service_tier` becomes the class, no more urgent than the context allows.
[[nodiscard]] Request take_request(BodyFields& fields, const ApiContext& context);

/// How many tokens an output may have; 0, as many as the context has room for, when it is absent.
[[nodiscard]] std::int32_t take_token_bound(BodyFields& fields, std::string_view name);

/// `service_tier`: auto, default and priority are chat, flex and batch are batch. Returns the tier
/// that holds, for the answer: what was asked for ("default" for auto), or "flex" where the context
/// allows no more; empty when the request had none.
[[nodiscard]] std::string take_service_tier(BodyFields& fields, const ApiContext& context,
                                            RequestClass& cls);

/// A list of tools, or of calls of them, can be empty and no more.
void allow_no_tools(BodyFields& fields, std::string_view name);

/// Tools can be named as absent and no further: an empty `tools`, a `tool_choice` of none or auto.
void refuse_tools(BodyFields& fields);

/// What asks for nothing special may be said; anything else is "unsupported".
struct OnlyFlag {
  std::string_view name;
  bool value;
};
void allow_only(BodyFields& fields, std::initializer_list<OnlyFlag> flags);
void allow_only_text(BodyFields& fields, std::string_view name, std::string_view value);

/// An object whose `type` is "text" and nothing else: response_format, text.format.
void allow_only_text_format(BodyFields& fields, std::string_view name);

/// validate() in the API's names, and the bound of sequences over all `prompts` of a body.
void check_request(BodyFields& fields, const Request& request, const ServedModel& model,
                   std::size_t prompts = 1);

}  // namespace weft
