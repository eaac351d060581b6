#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/text/tokenizer/split/regex.h"

namespace weft {

/// A text on its way through the pre-tokenizers: its present form, and the ranges that the model
/// gets one by one. Ranges are in order, not empty and do not overlap. Owner only.
struct Pieces {
  std::string text;
  std::vector<TextRange> ranges;
  /// Whether the first range begins where the whole input began; "prepend_scheme": "first" needs
  /// it.
  bool begins_input = false;

  [[nodiscard]] std::string_view at(const TextRange& range) const {
    return std::string_view(text).substr(range.begin, range.end - range.begin);
  }
};

}  // namespace weft
