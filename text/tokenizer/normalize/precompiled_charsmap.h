#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// SentencePiece's compiled normalization rules: a double-array trie (Aoe 1989, in the layout of
/// darts-clone) whose values are offsets into replacements that end with NUL. Thread-safe.
class PrecompiledCharsmap {
 public:
  /// `blob`: the size of the trie in bytes (32 bits), the trie, the replacements. kBadTokenizer
  /// when it is cut or misaligned.
  [[nodiscard]] static Result<PrecompiledCharsmap> parse(std::string_view blob);

  /// Replaces text that has a rule. Each cluster of characters is looked up as a whole and else by
  /// its characters, as in Hugging Face's tokenizers. `text` is valid UTF-8. Returns false, and
  /// leaves `text` unchanged, when it would grow past `max_size` bytes.
  [[nodiscard]] bool apply(std::string& text, std::size_t max_size) const;

 private:
  /// Returns the replacement for a key that is the whole `chunk` or, shortest first, its beginning.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view chunk) const;

  /// Returns the end of a run from `at` on of ASCII that has no rule and joins no cluster.
  [[nodiscard]] std::size_t skip_plain(std::string_view text, std::size_t at) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
  std::array<bool, 256> is_plain_{};  ///< By byte: it is ASCII, no newline, and has no rule.
};

}  // namespace weft
