#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// Bounds of a TOML file: the largest of ours has a few KiB, and its deepest key three parts.
/// toml++ descends and frees a key a.b.c... by recursion and bounds only the nesting of values, so
/// a line of dots would take the stack.
inline constexpr std::size_t kMaxTomlBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxTomlKeyDots = 16;

/// Parses `text`, which errors call `name`. kBadToml with "name:line: what".
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view name);

/// Where the node is: "name:12".
[[nodiscard]] std::string place_of(const toml::node& node, std::string_view name);

}  // namespace weft
