#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/config/config.h"

/// How a file names Config::policy and window.
namespace weft {

/// "fusion"; "window:500"; nothing when it is none of them.
[[nodiscard]] std::optional<std::string> policy_text(const Config& config);

/// Sets both of a text that policy_text() gives, with a window in `low` .. `high` milliseconds;
/// false, and nothing is set, for any other.
[[nodiscard]] bool set_policy(std::string_view text, std::int64_t low, std::int64_t high,
                              Config& config);

/// "\"fusion\", ..., \"window:1\" .. \"window:60000\"".
[[nodiscard]] std::string policy_range(std::int64_t low, std::int64_t high);

}  // namespace weft
