#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "weft/net/api/fields/api_error.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/sampling_table.h"
#include "weft/sampling/sampling_params.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Takes the decoding parameters under the names that OpenAI's API and vLLM use (and, where those
/// have none, llama.cpp or Hugging Face): temperature, top_p, top_k, min_p, ... The table in
/// sampling_table.cc is the list, and docs/http-api.md explains it; a test compares the two.
/// Mistakes stay in `fields`. This function refuses wrong types, values that are no numbers, and
/// texts that are no tokens; check_sampling() checks ranges. `defaults` gives the parameters that
/// the request leaves out; a beam search takes no defaults that draw. `own` has rows that replace
/// rows of the table for an API.
[[nodiscard]] SamplingParams take_sampling(BodyFields& fields, const Tokenizer& tokenizer,
                                           const SamplingParams& defaults = {},
                                           sampling_table::OwnRows own = {});

/// Takes the flag `logprobs`, and `top_logprobs`, which requires the flag, as in chats and in
/// Ollama's API.
void take_logprobs(const BodyFields& fields, SamplingParams& sampling);

/// Calls validate() and reports mistakes under the names of the table, or of `own`.
[[nodiscard]] std::optional<ApiError> check_sampling(const SamplingParams& params,
                                                     std::size_t vocabulary,
                                                     sampling_table::OwnRows own = {});

/// Adds the parameters under their request names to an answer that echoes them. A client that sends
/// them again gets the same parameters. bad_words appear in bad_token_ids.
void echo_sampling(const SamplingParams& params, boost::json::object& out);

/// Returns all names of the table.
[[nodiscard]] std::span<const std::string_view> sampling_field_names() noexcept;

}  // namespace weft
