#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

/// What a model's makers recommend for requests that do not say it themselves.
struct GenerationDefaults {
  SamplingParams sampling{};    ///< temperature, top_k, top_p, min_p, penalties.repetition
  std::int32_t max_tokens = 0;  ///< of an output; 0 = they do not say
  std::vector<TokenId> end_tokens{};
  TokenId forced_bos = kNoToken;  ///< forced_bos_token_id, of models with an encoder
};

/// Reads them from the generation_config.json in Hugging Face's folders: temperature, top_k, top_p,
/// min_p, repetition_penalty, max_new_tokens and eos_token_id, as vLLM does, and
/// forced_bos_token_id; all else is passed over, do_sample too. `wanted` is "auto", which means
/// beside `model`, where there may be none, or the folder that it is in; empty: nothing is read.
/// kBadRequest naming the file, the field and its value; errors of core/io/file.h. What it does not
/// say is as in `otherwise`.
[[nodiscard]] Result<GenerationDefaults> read_generation_config(
    const std::string& wanted, const std::filesystem::path& model,
    const SamplingParams& otherwise = {});

}  // namespace weft
