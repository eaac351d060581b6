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

/// Whether a file of `size` bytes whose first ones, 256 where it has them, are `begin` is a model
/// of llama2.c: by the magic number of its versions from 1 on, or by a header of version 0, whose
/// numbers are all in range and give exactly the size of the file.
[[nodiscard]] bool is_llama2c(std::span<const std::byte> begin, std::uint64_t size);

/// Reads a model of karpathy/llama2.c (export.py): version 0, which is seven int32 and float32
/// weights, or version 1, which is a header of 256 bytes and float32 weights in another order.
/// Tensors get the names of Hugging Face's llama and the config its keys. What differs is
/// "rope_style": "interleaved": rows of q_proj and k_proj stand as Meta has them, in pairs.
///
/// Only the header is read. kUnsupportedFormat for the quantized version 2 and later;
/// kBadCheckpoint when a number of the header is out of range or the file's size is not what they
/// give. Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_llama2c(const SharedSource& source);

/// Reads a tokenizer of llama2.c (tokenizer.py): an int32, the longest token's length, then for
/// each token its score, length and text. The file does not say how many there are: `tokens` does,
/// and the file must end behind them. kBadCheckpoint when it does not fit.
[[nodiscard]] Result<Vocabulary> read_llama2c_tokenizer(std::span<const std::byte> bytes,
                                                        std::string_view name, std::int64_t tokens);

/// The tokenizer beside the model at `model`: tok<tokens>.bin, else tokenizer.bin, else the first
/// of the other tok*.bin by name; the first of these that fits `tokens`. Null when none does.
[[nodiscard]] std::shared_ptr<const Vocabulary> find_llama2c_tokenizer(
    const std::filesystem::path& model, std::int64_t tokens);

}  // namespace weft
