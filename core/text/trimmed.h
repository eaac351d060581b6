#pragma once

#include <string_view>

namespace weft {

/// Returns the text without spaces and tabs at its ends.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

}  // namespace weft
