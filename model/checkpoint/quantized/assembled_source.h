#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// Makes a weight's blocks from a checkpoint's tensors. Immutable; thread-safe.
class RowMaker {
 public:
  RowMaker() = default;
  RowMaker(const RowMaker&) = delete;
  RowMaker& operator=(const RowMaker&) = delete;
  virtual ~RowMaker() = default;

  /// Writes rows [first, first + count), whole and contiguous. Errors of reading the tensors and of
  /// their values.
  [[nodiscard]] virtual Result<void> make(std::int64_t first, std::int64_t count,
                                          std::span<std::byte> out) const = 0;
};

/// Returns a weight of type `dtype` and shape [..., inputs], whose bytes are computed when they are
/// read. Its name is `name`; messages name `file`. kBadCheckpoint if the shape has too many
/// numbers.
[[nodiscard]] Result<CheckpointTensor> assembled(std::string name, const std::string& file,
                                                 DType dtype, std::vector<std::int64_t> shape,
                                                 std::unique_ptr<const RowMaker> maker);

}  // namespace weft
