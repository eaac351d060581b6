#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

/// Whether a file is a model of llama2.c, from its size and its first bytes (256, or fewer in a
/// shorter file). Versions from 1 on have a magic number. A header of version 0 has numbers that
/// are all in range and give exactly the file's size.
[[nodiscard]] bool is_llama2c(std::span<const std::byte> begin, std::uint64_t size);

/// Reads a model of karpathy/llama2.c (export.py): version 0 with seven int32 and float32 weights,
/// or version 1 with a header of 256 bytes and float32 weights in another order. Tensors get the
/// names of Hugging Face's llama, and the config its keys. One key differs: "rope_style":
/// "interleaved", since rows of q_proj and k_proj are in Meta's order, in pairs.
///
/// It reads the header only. kUnsupportedFormat for the quantized version 2 and later.
/// kBadCheckpoint if a number of the header is out of range or does not fit the file's size. Errors
/// of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_llama2c(const SharedSource& source);

/// Reads a tokenizer of llama2.c (tokenizer.py): an int32, the longest token's length, then for
/// each token its score, length and text. The file does not state the number of tokens, so the
/// caller gives `tokens`, and the file must end after them. kBadCheckpoint if it does not fit.
[[nodiscard]] Result<Vocabulary> read_llama2c_tokenizer(std::span<const std::byte> bytes,
                                                        std::string_view name, std::int64_t tokens);

/// Returns the tokenizer beside the model at `model`: the first that fits `tokens` among
/// tok<tokens>.bin, tokenizer.bin and other tok*.bin by name. Null if none fits.
[[nodiscard]] std::shared_ptr<const Vocabulary> find_llama2c_tokenizer(
    const std::filesystem::path& model, std::int64_t tokens);

}  // namespace weft
