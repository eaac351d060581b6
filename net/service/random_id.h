#pragma once

#include <string>

namespace weft {

/// Returns 128 random bits in hexadecimal, an id that cannot be guessed. Thread-safe.
[[nodiscard]] std::string random_id();

}  // namespace weft
