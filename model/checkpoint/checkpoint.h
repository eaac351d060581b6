#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"

namespace weft {

struct Vocabulary;

/// A tensor of a checkpoint and the place of its bytes, row-major and contiguous.
struct CheckpointTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  ///< Outermost first, as in Hugging Face and NumPy.
  SharedSource source = {};         ///< The file that contains it.
  std::uint64_t offset = 0;         ///< Offset of its first byte in the source.
  std::uint64_t size = 0;           ///< In bytes.
  /// The bytes to read at once. A piece stays in its thread's second-level cache until it is
  /// packed, and a system call costs little beside it.
  std::int64_t piece_bytes = std::int64_t{1} << 20U;
  /// For a weight whose groups are not neighbouring inputs (GPTQ's activation order): the input of
  /// each column. Null: columns are in the natural order.
  std::shared_ptr<const std::vector<std::int32_t>> input_order = {};

  [[nodiscard]] const std::string& file() const noexcept { return source->name(); }

  /// Fills `out` with the tensor's bytes from `first` on. Errors of the source, including
  /// FileErrc::kCut; bytes outside of the tensor are a bug of the caller: internal_error.
  /// Thread-safe.
  [[nodiscard]] Result<void> read(std::uint64_t first, std::span<std::byte> out) const;

  /// Reads whole blocks for computing. kBadCheckpoint if a block's scale is infinite or not a
  /// number. So loading weights checks all scales without reading them twice.
  [[nodiscard]] Result<void> read_blocks(std::uint64_t first, std::span<std::byte> out) const;
};

[[nodiscard]] std::uint64_t bytes_of_all(std::span<const CheckpointTensor> tensors) noexcept;

enum class CheckpointFormat : std::uint8_t { kSafetensors, kPickle, kLlama2C, kGguf };

[[nodiscard]] std::string_view to_string(CheckpointFormat format) noexcept;

/// The files of one model, opened and checked but not read; tensors know where their bytes are. The
/// files stay open as long as this object lives. Immutable; reading is thread-safe.
class Checkpoint {
 public:
  /// Sorts `tensors` by name. kBadCheckpoint if a name occurs twice. `stored_bytes` are the bytes
  /// in the files if the tensors are made of other tensors.
  [[nodiscard]] static Result<Checkpoint> make(
      CheckpointFormat format, std::filesystem::path path, boost::json::value config,
      std::vector<CheckpointTensor> tensors, std::shared_ptr<const Vocabulary> vocabulary,
      std::optional<std::uint64_t> stored_bytes = std::nullopt);

  /// Returns the same model with other tensors and the same stored bytes. kBadCheckpoint as make().
  [[nodiscard]] Result<Checkpoint> with_tensors(std::vector<CheckpointTensor> tensors) const;

  [[nodiscard]] CheckpointFormat format() const noexcept { return format_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// config.json; for GGUF its metadata without the tokenizer's arrays, flat, keys as in the file
  /// ("llama.block_count"); for llama2.c the header's fields under their names in Hugging Face's
  /// config of llama, with "model_type": "llama". Always an object.
  [[nodiscard]] const boost::json::value& config() const noexcept { return config_; }

  /// Sorted by name.
  [[nodiscard]] std::span<const CheckpointTensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] const CheckpointTensor* find(std::string_view name) const noexcept;

  /// Returns the bytes of the tensors in the files.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }

  /// Returns the tokenizer inside the checkpoint (GGUF), or beside it (llama2.c's tokenizer.bin).
  /// Null: the tokenizer is in tokenizer.json beside the model.
  [[nodiscard]] const Vocabulary* vocabulary() const noexcept { return vocabulary_.get(); }

 private:
  Checkpoint() = default;

  CheckpointFormat format_ = CheckpointFormat::kSafetensors;
  std::filesystem::path path_;
  boost::json::value config_;
  std::vector<CheckpointTensor> tensors_;
  std::uint64_t stored_bytes_ = 0;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

/// Returns what a model's files lack although its readers can do without it: one sentence each, for
/// the model's users.
[[nodiscard]] std::vector<std::string> warnings_of(const Checkpoint& checkpoint);

/// Opens a model: a folder in Hugging Face layout, a .gguf file, a folder with exactly one .gguf
/// file, or a llama2.c .bin file. In Hugging Face layout, config.json is beside model.safetensors,
/// its shards and index, or pytorch_model.bin, its shards and index, searched in this order. A
/// tensor in two shards is read from the shard that the index names. A single safetensors or
/// PyTorch file is read too; its config is the config.json beside it, or empty. The bytes determine
/// the format, not the name. Every check that does not need the tensors' numbers is made here.
/// Errors of core/io/file.h, kUnsupportedFormat, kBadCheckpoint, kForbiddenPickle, kBadConfig.
[[nodiscard]] Result<Checkpoint> open_checkpoint(const std::filesystem::path& path);

}  // namespace weft
