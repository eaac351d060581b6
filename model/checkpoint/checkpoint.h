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

/// One tensor of a checkpoint and where its bytes lie, row-major and contiguous.
struct CheckpointTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  ///< Outermost first, as Hugging Face and NumPy state it.
  SharedSource source = {};         ///< The file it stands in.
  std::uint64_t offset = 0;         ///< Of its first byte in the source.
  std::uint64_t size = 0;           ///< In bytes.
  /// The bytes that are best read at once. A piece stays in its thread's second-level cache until
  /// it is packed, and a system call costs nothing beside it.
  std::int64_t piece_bytes = std::int64_t{1} << 20U;
  /// For a weight whose groups are not neighbouring inputs (GPTQ's activation order): its columns
  /// stand in another order, and this is each column's input. Null: the natural order.
  std::shared_ptr<const std::vector<std::int32_t>> input_order = {};

  [[nodiscard]] const std::string& file() const noexcept { return source->name(); }

  /// Fills `out` with the tensor's bytes from `first` on. Errors of the source, FileErrc::kCut
  /// among them; bytes outside of the tensor are a bug of the caller: internal_error. Thread-safe.
  [[nodiscard]] Result<void> read(std::uint64_t first, std::span<std::byte> out) const;

  /// Reads whole blocks to compute with them: kBadCheckpoint where a block's scale is infinite
  /// or not a number. So all scales are checked when weights are loaded, without a second
  /// reading.
  [[nodiscard]] Result<void> read_blocks(std::uint64_t first, std::span<std::byte> out) const;
};

[[nodiscard]] std::uint64_t bytes_of_all(std::span<const CheckpointTensor> tensors) noexcept;

enum class CheckpointFormat : std::uint8_t { kSafetensors, kPickle, kLlama2C, kGguf };

[[nodiscard]] std::string_view to_string(CheckpointFormat format) noexcept;

/// The files of one model, opened and checked but not read: tensors say where their bytes are. The
/// files stay open as long as this object lives. Immutable; reading is thread-safe.
class Checkpoint {
 public:
  /// Sorts `tensors` by name. kBadCheckpoint when a name comes twice. `stored_bytes`, where the
  /// tensors are made of other tensors: the bytes of those.
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

  /// Bytes of the tensors as they stand in the files.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }

  /// The tokenizer inside the checkpoint (GGUF), or beside it (llama2.c's tokenizer.bin); null: the
  /// tokenizer is in tokenizer.json beside the model.
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

/// Returns what a model's files lack although its readers can do without it, one sentence each, for
/// the people who run the model.
[[nodiscard]] std::vector<std::string> warnings_of(const Checkpoint& checkpoint);

/// Opens a model: a folder in Hugging Face layout (config.json beside model.safetensors, its shards
/// and index, or pytorch_model.bin, its shards and index; looked for in this order; a tensor that
/// stands in two shards is read from the one that the index names), a .gguf file
/// or a folder that holds just one, or a llama2.c .bin file. A safetensors or PyTorch file by
/// itself is read too; its config is the config.json beside it, or empty. The format is told from
/// the bytes, not from the name. Every check that can be made without looking at the numbers is
/// made here. Errors of core/io/file.h, kUnsupportedFormat, kBadCheckpoint, kForbiddenPickle,
/// kBadConfig.
[[nodiscard]] Result<Checkpoint> open_checkpoint(const std::filesystem::path& path);

}  // namespace weft
