#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// The bytes that a base64 text (RFC 4648, with or without padding) stands for; nothing when it is
/// not one.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace weft
