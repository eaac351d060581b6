#pragma once

#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `prompt` of the text completion API: a text, a list of texts, a list of token ids, or a
/// list of such lists. Each becomes a request of its own that has prompt or prompt_tokens alone;
/// none is empty, ids are in the vocabulary, and no list of them is longer than the context.
/// Mistakes stay in `fields`.
[[nodiscard]] std::vector<Request> take_prompts(BodyFields& fields, const ServedModel& model);

}  // namespace weft
