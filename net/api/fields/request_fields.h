#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "weft/actors/request/request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/sampling_table.h"

namespace weft {

/// Fields that all APIs share. Each function takes its fields and leaves mistakes in `fields`.

/// Takes `model`; absent means the served model. 404 "model_not_found" for another name.
[[nodiscard]] std::string take_model(BodyFields& fields, const ModelCard& card);

/// Reports a mistake in field `name`, which needs texts, where the model has no tokenizer.
void need_tokenizer(const BodyFields& fields, std::string_view name, const ServedModel& model);

/// The names of fields where an API differs from OpenAI's.
struct RequestNames {
  std::string_view stop = "stop";
  sampling_table::OwnRows sampling{};
};

/// Takes `stop`, `skip_special_tokens`, `priority`, `cache_salt`, `speculation`, `prediction` and
/// every sampling field. Client and timeout come from the context, and the class is the most urgent
/// one that the context allows.
[[nodiscard]] Request take_request(BodyFields& fields, const ApiContext& context,
                                   const RequestNames& names = {});

/// Takes the bound of an output's tokens. Returns 0 when it is absent: as many tokens as the
/// context has room for.
[[nodiscard]] std::int32_t take_token_bound(BodyFields& fields, std::string_view name);

/// Takes `service_tier`: auto, default and priority are chat, flex and batch are batch. Returns the
/// tier for the answer: the requested one ("default" for auto), or "flex" where the context allows
/// no more; empty when the request had none.
[[nodiscard]] std::string take_service_tier(BodyFields& fields, const ApiContext& context,
                                            RequestClass& cls);

/// Refuses tools: allows only an empty `tools`, a `tool_choice` of none or auto, and equal values
/// of the older fields.
void refuse_tools(BodyFields& fields);
/// Refuses tools in the older fields alone: `functions` and `function_call`.
void refuse_older_tools(BodyFields& fields);

/// Allows a flag only with its neutral value; any other value is "unsupported".
struct OnlyFlag {
  std::string_view name;
  bool value;
};
void allow_only(BodyFields& fields, std::initializer_list<OnlyFlag> flags);
void allow_only_text(BodyFields& fields, std::string_view name, std::string_view value);

/// Calls validate(), reports mistakes under the API's names, and bounds the sequences over all
/// `prompts`.
void check_request(BodyFields& fields, const Request& request, const ServedModel& model,
                   std::size_t prompts = 1, const RequestNames& names = {});

}  // namespace weft
