#include "weft/text/incremental_detokenizer.h"

namespace weft {

Result<std::string> IncrementalDetokenizer::push(TokenId id) {
  Result<std::string_view> token = tokenizer_.token(id);
  if (!token) return token.error();
  if (skip_special_ && tokenizer_.is_special(id)) return std::string();
  stream_.push(*token);
  return stream_.take();
}

std::string IncrementalDetokenizer::finish() {
  stream_.finish();
  return stream_.take();
}

}  // namespace weft
