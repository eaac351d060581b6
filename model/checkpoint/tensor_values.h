#pragma once

#include <cstdint>
#include <span>

namespace weft {

struct CheckpointTensor;

/// Numbers `offset`, `offset + stride`, ... of a floating-point tensor as float32 into `out`. They
/// must be in the tensor; one outside is a bug of the caller: internal_error.
void read_values(const CheckpointTensor& tensor, std::int64_t offset, std::int64_t stride,
                 std::span<float> out);

}  // namespace weft
