#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// The tensors of a checkpoint's files. Schemes take the tensors of each weight; tensors that no
/// scheme takes stay as they are. Owner only.
class RawTensors {
 public:
  explicit RawTensors(std::vector<CheckpointTensor> tensors);

  /// Returns the names that end with `suffix`, without the suffix, in alphabetical order.
  [[nodiscard]] std::vector<std::string> modules(std::string_view suffix) const;

  /// Returns null if there is no such tensor.
  [[nodiscard]] const CheckpointTensor* find(const std::string& name) const;
  /// As find(), and counts the tensor as taken.
  const CheckpointTensor* take(const std::string& name);
  /// kBadCheckpoint if there is no such tensor: the detail says which tensor needs it.
  [[nodiscard]] Result<const CheckpointTensor*> require(const std::string& name,
                                                        const CheckpointTensor& needed_by);

  /// Returns the tensors that were not taken.
  [[nodiscard]] std::vector<CheckpointTensor> rest() const;

 private:
  std::vector<CheckpointTensor> tensors_;  ///< sorted by name
  std::set<const CheckpointTensor*> taken_;
};

/// Returns "FILE: tensor 'NAME' WHAT" as kBadCheckpoint or kUnsupportedFormat.
[[nodiscard]] Error bad_raw(const CheckpointTensor& tensor, std::string_view what);
[[nodiscard]] Error unsupported_raw(const CheckpointTensor& tensor, std::string_view what);

/// Checks a tensor's type and shape; kBadCheckpoint with the found and the expected ones.
[[nodiscard]] Result<void> check_raw(const CheckpointTensor& tensor, DType dtype,
                                     const std::vector<std::int64_t>& shape);

/// Whether every extent is at least 1: then the file's size bounds each extent.
[[nodiscard]] bool is_filled(const CheckpointTensor& tensor) noexcept;

/// Returns all bytes of a tensor that is examined when its file is opened.
[[nodiscard]] Result<std::vector<std::byte>> read_all(const CheckpointTensor& tensor);

}  // namespace weft
