#pragma once

#include "weft/core/error/error.h"

namespace weft::cuda {

/// Loads the library that LinearEngine multiplies with (cuBLASLt), which is no part of the program;
/// once it is loaded, this is quick. The error says which library or function is missing
/// (core/io/shared_library.h). Thread-safe.
[[nodiscard]] Result<void> load_linear_library();

}  // namespace weft::cuda
