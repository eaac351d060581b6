#pragma once

#include <memory>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/format/output_format.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// How a model writes thoughts and calls, and which of its special tokens are tags of that, or
/// parts of one: the detokenizer shows those to the parser and to nobody else. Immutable, shared.
struct ModelFormat {
  OutputFormat format{};
  std::vector<TokenId> tag_tokens{};  ///< sorted

  /// Reads the tokenizer's chat templates.
  [[nodiscard]] static std::shared_ptr<const ModelFormat> find(const Tokenizer& tokenizer);
  [[nodiscard]] static std::shared_ptr<const ModelFormat> make(OutputFormat format,
                                                               const Tokenizer& tokenizer);
};

}  // namespace weft
