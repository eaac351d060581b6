#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Returns the bytes that a base64 text encodes (RFC 4648, with or without padding); nothing when
/// it is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace weft
