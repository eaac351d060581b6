#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/config/config.h"

/// The text by which a file names Config::policy and window.
namespace weft {

/// Returns "fusion", "window:500" and so on; nothing when it is none of them.
[[nodiscard]] std::optional<std::string> policy_text(const Config& config);

/// Sets policy and window from a text of policy_text(), with a window in `low` .. `high`
/// milliseconds; returns false, and sets nothing, for any other text.
[[nodiscard]] bool set_policy(std::string_view text, std::int64_t low, std::int64_t high,
                              Config& config);

/// Returns "\"fusion\", ..., \"window:1\" .. \"window:60000\"".
[[nodiscard]] std::string policy_range(std::int64_t low, std::int64_t high);

}  // namespace weft
