#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The name of a field with prompts, and the bound of their number.
struct PromptList {
  std::string_view name = "prompt";
  std::size_t most = defaults::kMaxSequencesPerBody;
  bool cut = false;  ///< lists of ids may be longer than the context: they are cut later
};

/// Takes `prompt` of the text completion API: a text, a list of texts, a list of token ids, or a
/// list of such lists. Each prompt becomes a request that has prompt or prompt_tokens alone. None
/// is empty, ids are in the vocabulary, and no list of ids is longer than the context unless it is
/// cut later. Mistakes stay in `fields`.
[[nodiscard]] std::vector<Request> take_prompts(BodyFields& fields, const ServedModel& model,
                                                const PromptList& list = {});

}  // namespace weft
