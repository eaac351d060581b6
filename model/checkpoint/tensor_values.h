#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"

namespace weft {

struct CheckpointTensor;

/// Converts numbers `offset`, `offset + stride`, ... at `from` to float32 in `out`. They have a
/// floating-point type and any address. Another type is a caller's bug: internal_error.
void widen_values(DType dtype, const std::byte* from, std::int64_t offset, std::int64_t stride,
                  std::span<float> out);

/// Rounds numbers to a floating-point type, and writes them to `out` at any address. Returns
/// whether all of them are finite, and still are in that type. Another type is a caller's bug:
/// internal_error.
[[nodiscard]] bool narrow_values(DType dtype, std::span<const float> values,
                                 std::span<std::byte> out);

/// Converts a tensor's numbers likewise. It reads the range from the first to the last of them, in
/// pieces of a MiB. A number outside of the tensor is the caller's bug: internal_error. Errors of
/// CheckpointTensor::read_blocks().
[[nodiscard]] Result<void> read_values(const CheckpointTensor& tensor, std::int64_t offset,
                                       std::int64_t stride, std::span<float> out);

}  // namespace weft
