#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"

namespace weft::cuda {

/// Reads memory of the current device once, as fast as possible. Other work on the same bytes is
/// measured against this limit. `memory` is aligned to 16 bytes; `sink` is not written.
[[nodiscard]] Status read_memory(const std::byte* memory, std::size_t bytes, std::uint32_t* sink,
                                 Stream stream);

/// Reads 1 GiB of GPU `device`'s memory several times with a kernel that does nothing else. Sets
/// `bytes_per_second` to the best pass. Returns the first error of any call or launch.
[[nodiscard]] Status read_bandwidth(int device, double& bytes_per_second);

}  // namespace weft::cuda
