#pragma once

#include <filesystem>
#include <string>

#include "weft/core/error/error.h"
#include "weft/train/program/low_rank_pairs.h"

namespace weft {

/// Writes adapter_config.json and adapter_model.safetensors into an existing folder, as PEFT's
/// save_pretrained() does; `base` is the base's name in them. target_modules has as much of each
/// module's path as tells it from the modules without a pair. FileErrc::kExists, kCannotWrite.
[[nodiscard]] Result<void> write_peft_adapter(const std::filesystem::path& folder,
                                              const LowRankPairs& pairs, const std::string& base);

}  // namespace weft
