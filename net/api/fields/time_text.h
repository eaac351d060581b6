#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Writes a moment, in seconds since 1970, as in RFC 3339: "2026-01-31T23:59:59Z".
[[nodiscard]] std::string rfc3339(std::int64_t seconds);

}  // namespace weft
