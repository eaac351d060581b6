#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/models/model_list.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/api_error.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The facts that llama.cpp's server reports about a model and its slots; a slot is one of an
/// engine's rows.

/// Returns the body of GET /props: the model's name, context, chat template and sampling defaults
/// by llama.cpp's names, and the number of slots. The model is loaded. The body names none of the
/// model's files.
[[nodiscard]] std::string llama_props(const ModelInfo& card, std::size_t slots);

/// Returns the body of GET /lora-adapters: [{"id", "path", "scale"}] of the model's adapters, where
/// `id` is AdapterInfo::number, `path` is the adapter's name, and `scale` is 1 of the one that
/// requests have by default, else 0.
[[nodiscard]] std::string llama_adapters(const ModelInfo& card);

/// Carries out POST /lora-adapters: [{"id", "scale"}] as in a request's `lora` says which adapter
/// requests of the model have that say nothing of adapters. Fails if the adapter is removed at the
/// same time.
[[nodiscard]] ApiResult<void> choose_llama_adapter(std::string_view text, const ModelInfo& card);

/// Takes `lora` of a request, [{"id", "scale"}] with the ids of llama_adapters(): one adapter with
/// scale 1 and others with 0. Without it the request has the adapter that `model` names, else the
/// default one.
void take_lora(const BodyFields& fields, const ModelInfo& card, Request& request);

/// Returns the body of GET /slots, a list of {"id", "n_ctx", "is_processing", ...}. `busy` says of
/// each slot whether a request uses it.
[[nodiscard]] std::string llama_slots(const ModelInfo& card, const std::vector<bool>& busy);

}  // namespace weft
