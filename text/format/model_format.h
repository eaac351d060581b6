#pragma once

#include <memory>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/format/output_format.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// The format of a model's thoughts and calls, and the special tokens that form its tags. The
/// detokenizer shows these tokens only to the parser. Immutable, shared.
struct ModelFormat {
  OutputFormat format{};
  std::vector<TokenId> tag_tokens{};  ///< sorted

  /// Reads the tokenizer's chat templates.
  [[nodiscard]] static std::shared_ptr<const ModelFormat> find(const Tokenizer& tokenizer);
  [[nodiscard]] static std::shared_ptr<const ModelFormat> make(OutputFormat format,
                                                               const Tokenizer& tokenizer);
};

}  // namespace weft
