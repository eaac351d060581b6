#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/text/tokenizer/tokenizer_parts.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// Reads the parts of a tokenizer.json; errors of Tokenizer::from_json.
[[nodiscard]] Result<TokenizerParts> read_tokenizer_json(std::string_view text,
                                                         std::string_view name);

/// Reads the parts from a vocabulary's tables; errors of Tokenizer::from_vocabulary.
[[nodiscard]] Result<TokenizerParts> read_vocabulary(const Vocabulary& vocabulary,
                                                     std::string_view name);

/// A tokenizer.json's text, and the parts read from it and from the files beside it.
struct LoadedTokenizer {
  std::string text;  ///< empty where the parts come from other files
  TokenizerParts parts;
};

/// Errors of Tokenizer::load.
[[nodiscard]] Result<LoadedTokenizer> load_tokenizer_parts(const std::filesystem::path& path);

}  // namespace weft
