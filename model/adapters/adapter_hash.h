#pragma once

#include <array>
#include <cstddef>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter.h"

namespace weft {

/// Returns the SHA-256 of the adapter's changes, in the order of its sorted lists. Reads the
/// tensors of Adapter::whole, with the errors of reading. Thread-safe.
[[nodiscard]] Result<std::array<std::byte, 32>> hash_of(const Adapter& adapter);

}  // namespace weft
