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

/// The tensors of a checkpoint's files, of which schemes take those that make up a weight. What
/// none takes stays as it is. Owner only.
class RawTensors {
 public:
  explicit RawTensors(std::vector<CheckpointTensor> tensors);

  /// The names that end with `suffix`, without it, in alphabetical order.
  [[nodiscard]] std::vector<std::string> modules(std::string_view suffix) const;

  /// Null where there is none.
  [[nodiscard]] const CheckpointTensor* find(const std::string& name) const;
  /// The same; whoever gets one has taken it.
  const CheckpointTensor* take(const std::string& name);
  /// kBadCheckpoint where there is none: it says which tensor needs it.
  [[nodiscard]] Result<const CheckpointTensor*> require(const std::string& name,
                                                        const CheckpointTensor& needed_by);

  /// Those that were not taken.
  [[nodiscard]] std::vector<CheckpointTensor> rest() const;

 private:
  std::vector<CheckpointTensor> tensors_;  ///< sorted by name
  std::set<const CheckpointTensor*> taken_;
};

/// "FILE: tensor 'NAME' WHAT" as kBadCheckpoint or kUnsupportedFormat.
[[nodiscard]] Error bad_raw(const CheckpointTensor& tensor, std::string_view what);
[[nodiscard]] Error unsupported_raw(const CheckpointTensor& tensor, std::string_view what);

/// Whether the tensor is of the type and shape; kBadCheckpoint with what it is and what was wanted.
[[nodiscard]] Result<void> check_raw(const CheckpointTensor& tensor, DType dtype,
                                     const std::vector<std::int64_t>& shape);

/// Whether every extent is at least 1: then none is larger than the file can justify.
[[nodiscard]] bool is_filled(const CheckpointTensor& tensor) noexcept;

/// All bytes of a tensor that is looked at when its file is opened.
[[nodiscard]] Result<std::vector<std::byte>> read_all(const CheckpointTensor& tensor);

}  // namespace weft
