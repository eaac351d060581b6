#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"

namespace weft {

struct CheckpointTensor;

/// Numbers `offset`, `offset + stride`, ... of those that stand at `from`, in a floating-point type
/// and at any address, as float32 into `out`. Another type is a bug of the caller: internal_error.
void widen_values(DType dtype, const std::byte* from, std::int64_t offset, std::int64_t stride,
                  std::span<float> out);

/// The same of a tensor's numbers, which are read from its first of these to its last in pieces of
/// a MiB. They must be in the tensor; one outside is a bug of the caller: internal_error. Errors of
/// CheckpointTensor::read_blocks().
[[nodiscard]] Result<void> read_values(const CheckpointTensor& tensor, std::int64_t offset,
                                       std::int64_t stride, std::span<float> out);

}  // namespace weft
