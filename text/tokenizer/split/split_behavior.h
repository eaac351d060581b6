#pragma once

#include <vector>

#include "weft/text/tokenizer/split/pre_tokenizer.h"

namespace weft {

/// A part of a piece: a match of the splitting pattern, or the text between two matches.
struct SplitPart {
  TextRange range;
  bool is_match = false;
};

/// Appends the pieces that result from `parts`, which cover one piece in order. Empty ones are
/// dropped.
void append_split(const std::vector<SplitPart>& parts, SplitBehavior behavior,
                  std::vector<TextRange>& out);

}  // namespace weft
