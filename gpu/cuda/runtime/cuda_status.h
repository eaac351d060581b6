#pragma once

#include <cuda_runtime_api.h>

#include "weft/kernels/cuda/cuda_types.h"

namespace weft::cuda {

[[nodiscard]] inline Status status_of(cudaError_t error) { return static_cast<Status>(error); }

}  // namespace weft::cuda
