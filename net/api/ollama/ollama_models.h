#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The version of Ollama whose API this is. Clients decide by it which fields to send. It is the
/// first version with all fields that are taken (top_logprobs of 0.12.11).
inline constexpr std::string_view kOllamaVersion = "0.12.11";

/// Returns the served model's name for Ollama's clients: with ":latest" where it has no tag.
[[nodiscard]] std::string ollama_name(const ModelCard& card);

/// Takes `model`; absent means the served model, which is found with and without ":latest". Returns
/// the name as the client wrote it. 404 "model_not_found" for another name.
[[nodiscard]] std::string take_ollama_model(BodyFields& fields, const ModelCard& card);

/// Returns the body of GET /api/tags, which lists the served models, and of GET /api/ps, which
/// lists the loaded ones.
[[nodiscard]] std::string ollama_tags(const ModelList& list);
[[nodiscard]] std::string ollama_running(const ModelList& list);

/// Answers POST /api/show: returns the facts of the model that `model` (or its older field `name`)
/// names.
[[nodiscard]] ApiResult<std::string> ollama_show(simdjson::dom::object body, const ModelCard& card);

/// Returns the body of GET /api/version.
[[nodiscard]] std::string ollama_version();

}  // namespace weft
