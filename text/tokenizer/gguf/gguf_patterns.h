#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/split/pre_tokenizer.h"

namespace weft {

/// The splitting of text by a byte-level tokenizer of GGUF files; its name stands under
/// tokenizer.ggml.pre.
struct GgufPreTokenizer {
  /// In the syntax of tokenizer.json. Each pattern splits the pieces of the previous pattern; its
  /// matches and the texts between them become pieces.
  std::span<const std::string_view> patterns;
  /// A word that is a token is not merged.
  bool whole_words = false;
};

/// Returns null when the name is unknown. The result is valid for ever.
[[nodiscard]] const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);

/// Returns the patterns as steps. kUnknownTokenizerPart where one cannot be compiled.
[[nodiscard]] Result<std::vector<PreTokenizerStep>> gguf_split_steps(const GgufPreTokenizer& pre);

/// Returns the known names.
[[nodiscard]] std::vector<std::string_view> gguf_pre_tokenizer_names();

}  // namespace weft
