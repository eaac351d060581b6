#include "weft/text/output/output_text.h"

namespace weft {

Result<std::optional<std::size_t>> OutputText::push(TokenId id, std::string& out) {
  const Result<void> pushed = detokenizer_.push(id, has_stops_ ? decoded_ : out);
  if (!pushed) return pushed.error();
  const std::optional<std::size_t> hit = scanner_.feed(decoded_, out);
  decoded_.clear();
  return hit;
}

std::optional<std::size_t> OutputText::finish(std::string& out) {
  detokenizer_.finish(has_stops_ ? decoded_ : out);
  scanner_.feed(decoded_, out);
  decoded_.clear();
  return scanner_.flush(out);
}

}  // namespace weft
