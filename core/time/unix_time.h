#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

/// Returns the seconds since 1970, by the system's clock. Thread-safe.
[[nodiscard]] inline std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace weft
