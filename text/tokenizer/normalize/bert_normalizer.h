#pragma once

#include <string>

#include "weft/text/tokenizer/normalize/normalizer.h"

namespace weft {

/// Applies BERT's cleaning to valid UTF-8, in its order: clean, space out Chinese, strip, lower.
void normalize_bert(std::string& text, const BertStep& step);

}  // namespace weft
