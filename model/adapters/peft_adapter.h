#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter_file.h"

namespace weft {

/// Reads the two files of a PEFT adapter. Errors of read_adapter().
[[nodiscard]] Result<AdapterFile> read_peft_adapter(const std::filesystem::path& config,
                                                    const std::filesystem::path& weights);

/// Sorts a PEFT file's tensors into pairs, whole tensors and rows, and checks them against the
/// config. `file` is the tensors' file in messages. kBadAdapter naming file and tensor.
[[nodiscard]] Result<AdapterFile> sort_peft_tensors(AdapterConfig config,
                                                    std::vector<CheckpointTensor> tensors,
                                                    std::string_view file);

}  // namespace weft
