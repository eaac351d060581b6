#include "weft/text/output/incremental_detokenizer.h"

namespace weft {

Result<std::string> IncrementalDetokenizer::push(TokenId id) {
  std::string out;
  const Result<void> pushed = push(id, out);
  if (!pushed) return pushed.error();
  return out;
}

Result<void> IncrementalDetokenizer::push(TokenId id, std::string& out) {
  const Result<std::string_view> token = tokenizer_.token(id);
  if (!token) return token.error();
  const bool skipped =
      skip_special_ && tokenizer_.is_special(id) && !std::ranges::binary_search(shown_, id);
  if (!skipped) stream_.push(*token);
  if (tracks_ends_) stream_.mark_end();
  if (!skipped) stream_.take(out);
  return {};
}

std::string IncrementalDetokenizer::finish() {
  std::string out;
  finish(out);
  return out;
}

void IncrementalDetokenizer::finish(std::string& out) {
  stream_.finish();
  stream_.take(out);
}

}  // namespace weft
