#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// Returns the tables that a GGUF file would have for the tokenizer.json at `path`, or in that
/// folder, with the files beside it: byte-level BPE ("gpt2") or SentencePiece's BPE with byte
/// fallback ("llama"). Both tokenizers are then compared on the same texts, and on every token's
/// text.
///
/// GGUF has no form for Unicode's normalization (Qwen's NFC), which is left out, as in llama.cpp's
/// converter. kUnknownTokenizerPart names another part of the file without a form in GGUF, or the
/// text of which the two make different tokens; errors of Tokenizer::load.
[[nodiscard]] Result<Vocabulary> gguf_form(const std::filesystem::path& path);

/// Whether a token ends a turn according to its name ("<|im_end|>"), even if no file says so.
[[nodiscard]] bool ends_by_name(const Vocabulary& vocabulary, TokenId token);

}  // namespace weft
