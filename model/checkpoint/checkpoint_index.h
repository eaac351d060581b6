#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// Which file holds which tensor of a model that is split into shards: Hugging Face's
/// model.safetensors.index.json and pytorch_model.bin.index.json.
struct CheckpointIndex {
  struct Shard {
    std::string file;                  ///< A plain file name, of the index's own folder.
    std::vector<std::string> tensors;  ///< Sorted; no tensor is in two shards.
  };
  std::vector<Shard> shards;  ///< Sorted by file; at least one.
};

/// Parses the text of an index. `name` is its file name, for messages. kBadCheckpoint when it is no
/// such JSON, names a tensor twice, or a file that is not a plain file name. Thread-safe.
[[nodiscard]] Result<CheckpointIndex> parse_checkpoint_index(std::string_view text,
                                                             std::string_view name);

/// parse_checkpoint_index() of a file. kTooLarge above 64 MiB: a million tensors.
[[nodiscard]] Result<CheckpointIndex> read_checkpoint_index(const std::filesystem::path& path);

}  // namespace weft
