#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/split/pre_tokenizer.h"

namespace weft {

/// How the byte-level tokenizers of GGUF files split text, by the name under tokenizer.ggml.pre.
struct GgufPreTokenizer {
  /// In the syntax of tokenizer.json. Each pattern splits the pieces of the one before it; both its
  /// matches and the texts between them are pieces.
  std::span<const std::string_view> patterns;
  /// A word that is a token is not merged.
  bool whole_words = false;
};

/// Null when the name is not known. Valid for ever.
[[nodiscard]] const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);

/// Its patterns as steps. kUnknownTokenizerPart where one cannot be compiled.
[[nodiscard]] Result<std::vector<PreTokenizerStep>> gguf_split_steps(const GgufPreTokenizer& pre);

/// The names that are known.
[[nodiscard]] std::vector<std::string_view> gguf_pre_tokenizer_names();

}  // namespace weft
