#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// How the byte-level tokenizers of GGUF files split text, by the name under tokenizer.ggml.pre.
struct GgufPreTokenizer {
  /// In the syntax of tokenizer.json; each splits the pieces that the one before it left, and
  /// matches and what lies between them are pieces.
  std::span<const std::string_view> patterns;
  /// A word that is a token is not merged.
  bool whole_words = false;
};

/// Null when the name is not known. Valid for ever.
[[nodiscard]] const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);

/// The names that are known.
[[nodiscard]] std::vector<std::string_view> gguf_pre_tokenizer_names();

}  // namespace weft
