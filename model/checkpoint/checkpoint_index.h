#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// Which file has which tensor of a model in shards: Hugging Face's model.safetensors.index.json
/// and pytorch_model.bin.index.json.
struct CheckpointIndex {
  struct Shard {
    std::string file;                  ///< A plain file name, of the index's own folder.
    std::vector<std::string> tensors;  ///< Sorted; no tensor is in two shards.
  };
  std::vector<Shard> shards;  ///< Sorted by file; at least one.
};

/// Parses the text of an index. `name` is its file name, for messages. kBadCheckpoint if it is not
/// such JSON, names a tensor twice, or names a file that is not a plain file name. Thread-safe.
[[nodiscard]] Result<CheckpointIndex> parse_checkpoint_index(std::string_view text,
                                                             std::string_view name);

/// Parses the index in a file. kTooLarge above 64 MiB, which is a million tensors.
[[nodiscard]] Result<CheckpointIndex> read_checkpoint_index(const std::filesystem::path& path);

}  // namespace weft
