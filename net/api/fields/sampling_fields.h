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
/// Mistakes stay in `fields`. This layer refuses what only it can tell: types, numbers that are no
/// numbers, and texts that become tokens; check_sampling() checks ranges. Parameters that the
/// request leaves out are as in `defaults`; a beam search takes no defaults that draw. `own` are
/// the rows that an API has in the place of the table's rows.
[[nodiscard]] SamplingParams take_sampling(BodyFields& fields, const Tokenizer& tokenizer,
                                           const SamplingParams& defaults = {},
                                           sampling_table::OwnRows own = {});

/// Takes `logprobs`, a flag, and `top_logprobs`, which wants it, as chats and Ollama have them.
void take_logprobs(const BodyFields& fields, SamplingParams& sampling);

/// Calls validate() and reports in the names of the table, or of `own`.
[[nodiscard]] std::optional<ApiError> check_sampling(const SamplingParams& params,
                                                     std::size_t vocabulary,
                                                     sampling_table::OwnRows own = {});

/// Adds the parameters under the same names to an answer that echoes them; sent again they mean the
/// same. bad_words are among bad_token_ids.
void echo_sampling(const SamplingParams& params, boost::json::object& out);

/// All names of the table.
[[nodiscard]] std::span<const std::string_view> sampling_field_names() noexcept;

}  // namespace weft
