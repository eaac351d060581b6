#pragma once

#include "weft/core/error/error.h"

namespace weft::cuda {

/// Loads cuBLASLt, the library that LinearEngine multiplies with. It is not part of the program.
/// Later calls are quick. The error says which library or function is missing
/// (core/io/shared_library.h). Thread-safe.
[[nodiscard]] Result<void> load_linear_library();

}  // namespace weft::cuda
