#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// Tokens by their purpose; kNoToken where the vocabulary has none.
struct SpecialTokens {
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  TokenId unknown = kNoToken;
  TokenId separator = kNoToken;
  TokenId padding = kNoToken;
  TokenId classifier = kNoToken;
  TokenId mask = kNoToken;

  [[nodiscard]] std::array<TokenId, 7> all() const noexcept {
    return {bos, eos, unknown, separator, padding, classifier, mask};
  }
};

/// The tables of a tokenizer in files other than tokenizer.json (GGUF's metadata, llama2.c's
/// tokenizer.bin). Plain data, not yet checked: Tokenizer::from_vocabulary does that.
struct Vocabulary {
  enum class Model : std::uint8_t {
    kByteLevelBpe,      ///< Merges over GPT-2's byte alphabet; `pre` names the splitting pattern.
    kSentencePieceBpe,  ///< Merges by score, with byte fallback.
    /// Uses `merges` over the characters of a line, with "▁" for spaces and byte fallback; the form
    /// of Gemma 4. A run of line breaks that is a token is not merged.
    kLineBpe,
    kUnigram,
    kWordPiece,
  };
  enum class TokenType : std::uint8_t {
    kNormal = 1,
    kUnknown,
    kControl,
    kUserDefined,
    kUnused,
    kByte,
  };

  Model model = Model::kByteLevelBpe;
  std::string pre{};  ///< tokenizer.ggml.pre: "llama-bpe", "gpt-2", ...; may be empty.
  /// Text by id; SentencePiece writes "▁" for a space.
  std::vector<std::string> tokens{};
  std::vector<float> scores{};        ///< By id; empty when the model needs none.
  std::vector<TokenType> types{};     ///< By id; empty means all normal.
  std::vector<std::string> merges{};  ///< "left right", best first.
  SpecialTokens special{};
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = true;  ///< SentencePiece: a space is put before the text.
  bool remove_extra_whitespaces = false;
  std::string
      precompiled_charsmap;     ///< Unigram: SentencePiece's normalization rules; may be empty.
  std::string model_name{};     ///< general.name; llama.cpp strips space after tokens of "phi-3"
                                ///< because of it.
  std::string chat_template{};  ///< Jinja; empty when there is none.
  /// Jinja template for conversations with tools; empty when there is no separate one.
  std::string tool_chat_template{};
};

}  // namespace weft
