#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// Whether the folder holds the files of M2M100's tokenizer, and no tokenizer.json: vocab.json and
/// sentencepiece.bpe.model.
[[nodiscard]] bool is_m2m100_folder(const std::filesystem::path& folder);

/// Reads them as transformers' M2M100Tokenizer does: pieces of SentencePiece under the ids of
/// vocab.json, behind these a token for each language ("__en__"): those of added_tokens.json or
/// special_tokens_map.json, else M2M100's hundred. A piece without an id is no token. Errors of
/// Tokenizer::load.
[[nodiscard]] Result<Vocabulary> read_m2m100_folder(const std::filesystem::path& folder);

}  // namespace weft
