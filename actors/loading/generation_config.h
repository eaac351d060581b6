#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

/// The values that a model's makers recommend, for requests that leave them open.
struct GenerationDefaults {
  SamplingParams sampling{};    ///< temperature, top_k, top_p, min_p, penalties.repetition
  std::int32_t max_tokens = 0;  ///< an output's most tokens; 0 = not given
  std::vector<TokenId> end_tokens{};
  TokenId forced_bos = kNoToken;  ///< forced_bos_token_id, for models with an encoder
};

/// Reads the generation_config.json of Hugging Face's folders: temperature, top_k, top_p, min_p,
/// repetition_penalty, max_new_tokens and eos_token_id, as vLLM does, and forced_bos_token_id. It
/// ignores other fields, also do_sample. `wanted` is the file's folder; "auto" means beside
/// `model`, where the file may be missing; empty: reads no file. Missing fields keep their values
/// in `otherwise`. Errors: kBadRequest naming the file, field and value; errors of
/// core/io/file.h.
[[nodiscard]] Result<GenerationDefaults> read_generation_config(
    const std::string& wanted, const std::filesystem::path& model,
    const SamplingParams& otherwise = {});

}  // namespace weft
