#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter_config.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

enum class AdapterFormat : std::uint8_t { kPeft, kGguf };

[[nodiscard]] std::string_view to_string(AdapterFormat format) noexcept;

/// The kind of tensor to which a pair's product is added.
enum class PairKind : std::uint8_t {
  kLinear,     ///< a weight [outputs, inputs]
  kEmbedding,  ///< a table [V, H]: A is [r, V] and B is [H, r]
  kTable,      ///< a table [V, H] in a GGUF file: A is [V, r] and B is [H, r]
  kParameter,  ///< a stack of matrices, one for each expert: A is [E r, inputs], B [outputs, E r]
  kStack,      ///< a stack in a GGUF file: A is [E, r, inputs] and B is [E, outputs, r]
};

/// A low-rank pair as in its file: its tensors are places in the file.
struct StoredPair {
  std::string module;  ///< path in the base; for a GGUF file the name of the base's tensor
  PairKind kind = PairKind::kLinear;
  std::int64_t rank = 0;  ///< for kParameter 0, since only the base can say which parameter it is
  double scale = 1;
  CheckpointTensor a, b;
  std::optional<CheckpointTensor> bias;       ///< [outputs], added to the base's bias times scale
  std::optional<CheckpointTensor> magnitude;  ///< [outputs], for DoRA
};

/// Rows of a table that replace the base's.
struct StoredRows {
  std::string module;
  std::vector<std::int64_t> rows;
  CheckpointTensor values;  ///< [rows, H]
};

/// An adapter's files, opened and checked, but not read and not compared with a base. The files
/// stay open as long as this object lives. Immutable once read.
struct AdapterFile {
  std::filesystem::path path;  ///< the given path, or the only sub-folder with an adapter
  AdapterFormat format = AdapterFormat::kPeft;
  std::string architecture;  ///< general.architecture of a GGUF file
  AdapterConfig config;      ///< for a GGUF file from its metadata
  std::vector<StoredPair> pairs;
  /// Tensors that replace the base's tensors of the same name.
  std::vector<CheckpointTensor> whole;
  std::vector<StoredRows> rows;
  std::uint64_t bytes = 0;  ///< bytes of all tensors
};

/// Whether a folder has an adapter_config.json, or a file is a GGUF adapter.
[[nodiscard]] bool is_adapter(const std::filesystem::path& path);

/// Returns the adapters in a model's folder: the folder itself if it has an adapter_config.json,
/// and its sub-folders that have one. Sorted; empty if the folder cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> adapters_in(const std::filesystem::path& folder);

/// Opens an adapter: a folder of PEFT (adapter_config.json beside adapter_model.safetensors or
/// adapter_model.bin), a folder with exactly one such sub-folder, or a GGUF file whose general.type
/// is adapter. Ranks and shapes of pairs are checked against the config and each other. Keys in
/// AdapterConfig::refused are no error here. A symbolic link is followed only inside the folder, or
/// to the blobs of the Hugging Face hub's cache. kBadAdapter naming file and tensor or key; errors
/// of the files' readers. Thread-safe.
[[nodiscard]] Result<AdapterFile> read_adapter(const std::filesystem::path& path);

/// Returns "PATH: WHAT" as kBadAdapter.
[[nodiscard]] Error bad_adapter(std::string_view file, std::string_view what);

}  // namespace weft
