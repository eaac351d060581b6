#pragma once

#include <memory>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/gguf/gguf_metadata.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// The tokenizer in a GGUF file's metadata (keys tokenizer.*), or null when it has none. Where a
/// flag or a special token is not stated, llama.cpp's default for that kind of tokenizer holds. A
/// padding, mask, separator, classifier or unknown token outside the vocabulary, which converters
/// write, counts as none; such a bos or eos is refused.
///
/// kBadCheckpoint when an array is missing, of another type or length than its tokens, empty, of
/// more than 2^21 tokens or of a token longer than 64 KiB; kUnsupportedFormat for a kind of
/// tokenizer that is not read here. Whether merges and byte tokens make sense is checked by
/// Tokenizer.
[[nodiscard]] Result<std::shared_ptr<const Vocabulary>> read_gguf_vocabulary(
    const GgufMetadata& metadata, std::string_view file);

}  // namespace weft
