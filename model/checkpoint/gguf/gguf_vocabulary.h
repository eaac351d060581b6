#pragma once

#include <memory>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/gguf/gguf_metadata.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// Returns the tokenizer in a GGUF file's metadata (keys tokenizer.*), or null if it has none. If a
/// flag or a special token is not stated, it has llama.cpp's default for that kind of tokenizer. A
/// padding, mask, separator, classifier or unknown token outside the vocabulary, as converters
/// write them, counts as none. Such a bos or eos is refused.
///
/// kBadCheckpoint if an array is missing, is empty, or has the wrong type or length, for more than
/// 2^21 tokens, and for a token longer than 64 KiB. kUnsupportedFormat for a kind of tokenizer that
/// Weft does not read. Tokenizer checks whether merges and byte tokens make sense.
[[nodiscard]] Result<std::shared_ptr<const Vocabulary>> read_gguf_vocabulary(
    const GgufMetadata& metadata, std::string_view file);

}  // namespace weft
