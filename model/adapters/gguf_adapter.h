#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// Whether a GGUF file's metadata says that it is an adapter: general.type.
[[nodiscard]] bool is_gguf_adapter(const boost::json::object& metadata);

/// Reads the contents of a GGUF adapter (llama.cpp, convert_lora_to_gguf.py): pairs
/// TENSOR.lora_a and TENSOR.lora_b, each scaled by adapter.lora.alpha / rank. Errors of
/// read_adapter().
[[nodiscard]] Result<AdapterFile> read_gguf_adapter(const CheckpointFile& content,
                                                    std::string_view file);

}  // namespace weft
