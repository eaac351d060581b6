#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// The tables that a GGUF file would have for the tokenizer.json at `path`, or in that folder, with
/// the files beside it: byte-level BPE ("gpt2") and SentencePiece's BPE with byte fallback
/// ("llama"). Both tokenizers are then compared on the same texts, and on every token's own.
///
/// GGUF has no form for Unicode's normalization (Qwen's NFC), which is left out as llama.cpp's
/// converter does. kUnknownTokenizerPart naming the part of the file that it has no form for
/// either, or the text that the two make different tokens of; errors of Tokenizer::load.
[[nodiscard]] Result<Vocabulary> gguf_form(const std::filesystem::path& path);

/// Whether a token ends a turn by its name, without a file saying so ("<|im_end|>").
[[nodiscard]] bool ends_by_name(const Vocabulary& vocabulary, TokenId token);

}  // namespace weft
