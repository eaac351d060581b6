#pragma once

#include <cuda_runtime_api.h>

namespace weft::cuda {

/// Reads 1 GiB of GPU `device`'s memory several times with a kernel that does nothing else; sets
/// `bytes_per_second` to the best pass. Returns the first error of any call or launch.
[[nodiscard]] cudaError_t read_bandwidth(int device, double& bytes_per_second);

}  // namespace weft::cuda
