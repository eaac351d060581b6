#pragma once

#include <span>

#include "weft/net/routes/route.h"

namespace weft {

/// All routes of the server. docs/http-api.md explains them; a test compares the two.
[[nodiscard]] std::span<const Route> all_routes() noexcept;

}  // namespace weft
