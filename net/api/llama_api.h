#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/actors/models/model_list.h"

namespace weft {

/// What llama.cpp's server tells its clients of a model and of its slots, which are an engine's
/// rows.

/// Returns the body of GET /props: the model's name, context, chat template and sampling defaults
/// by llama.cpp's names, and how many slots there are. The model is loaded. Its files are not
/// named.
[[nodiscard]] std::string llama_props(const ModelInfo& card, std::size_t slots);

/// Returns the body of GET /slots, a list of {"id", "n_ctx", "is_processing", ...}. `busy` says of
/// each slot whether a request has it.
[[nodiscard]] std::string llama_slots(const ModelInfo& card, const std::vector<bool>& busy);

}  // namespace weft
