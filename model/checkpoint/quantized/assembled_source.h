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

  /// Writes rows [first, first + count), whole and side by side. Errors of reading the tensors, and
  /// of values in them.
  [[nodiscard]] virtual Result<void> make(std::int64_t first, std::int64_t count,
                                          std::span<std::byte> out) const = 0;
};

/// A weight of type `dtype` and shape [..., inputs] whose bytes are made when they are read. It is
/// called `name`; messages name `file`. kBadCheckpoint where the shape has too many numbers.
[[nodiscard]] Result<CheckpointTensor> assembled(std::string name, const std::string& file,
                                                 DType dtype, std::vector<std::int64_t> shape,
                                                 std::unique_ptr<const RowMaker> maker);

}  // namespace weft
