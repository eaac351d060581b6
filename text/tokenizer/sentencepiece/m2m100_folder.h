#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// Whether the folder has the files of M2M100's tokenizer, vocab.json and sentencepiece.bpe.model,
/// and no tokenizer.json.
[[nodiscard]] bool is_m2m100_folder(const std::filesystem::path& folder);

/// Reads them like transformers' M2M100Tokenizer. The pieces of SentencePiece get the ids of
/// vocab.json; a piece without an id is no token. After these comes a token for each language
/// ("__en__"), from added_tokens.json or special_tokens_map.json, else M2M100's hundred. Errors of
/// Tokenizer::load.
[[nodiscard]] Result<Vocabulary> read_m2m100_folder(const std::filesystem::path& folder);

}  // namespace weft
