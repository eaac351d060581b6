#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/actors/models/model_list.h"

namespace weft {

/// The facts that llama.cpp's server reports about a model and its slots; a slot is one of an
/// engine's rows.

/// Returns the body of GET /props: the model's name, context, chat template and sampling defaults
/// by llama.cpp's names, and the number of slots. The model is loaded. The body names none of the
/// model's files.
[[nodiscard]] std::string llama_props(const ModelInfo& card, std::size_t slots);

/// Returns the body of GET /slots, a list of {"id", "n_ctx", "is_processing", ...}. `busy` says of
/// each slot whether a request uses it.
[[nodiscard]] std::string llama_slots(const ModelInfo& card, const std::vector<bool>& busy);

}  // namespace weft
