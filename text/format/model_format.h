#pragma once

#include <memory>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/format/output_format.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// How a model writes thoughts and calls, and which of its special tokens are such tags, or parts
/// of one: the detokenizer shows these tokens to the parser only. Immutable, shared.
struct ModelFormat {
  OutputFormat format{};
  std::vector<TokenId> tag_tokens{};  ///< sorted

  /// Reads the tokenizer's chat templates.
  [[nodiscard]] static std::shared_ptr<const ModelFormat> find(const Tokenizer& tokenizer);
  [[nodiscard]] static std::shared_ptr<const ModelFormat> make(OutputFormat format,
                                                               const Tokenizer& tokenizer);
};

}  // namespace weft
