#pragma once

#include <string_view>

#include "weft/core/error/error.h"

namespace weft::measure {

/// Returns a client's error in a report's words: "cannot connect", "lost", "timeout", ...
[[nodiscard]] std::string_view kind_of(const Error& error) noexcept;

}  // namespace weft::measure
