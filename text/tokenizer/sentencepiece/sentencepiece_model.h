#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The contents of a file that SentencePiece's trainer writes (sentencepiece_model.proto,
/// ModelProto).
struct SentencePieceModel {
  enum class Kind : std::uint8_t { kUnigram = 1, kBpe = 2 };
  enum class PieceType : std::uint8_t {
    kNormal = 1,
    kUnknown,
    kControl,
    kUserDefined,
    kUnused,
    kByte,
  };
  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;
  std::string precompiled_charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
};

/// Reads a .model file, a protocol buffer; fields that the struct lacks are skipped. kBadTokenizer
/// with the offset where it is no such file, has no pieces or more than Tokenizer::kMaxTokens, or a
/// piece that is no text; kUnknownTokenizerPart for models of words and characters. `name` stands
/// for the file in errors.
[[nodiscard]] Result<SentencePieceModel> read_sentencepiece_model(std::string_view bytes,
                                                                  std::string_view name);

}  // namespace weft
