#pragma once

#include <string_view>

#include "weft/core/error/error.h"

namespace weft::measure {

/// What a report calls a client's error, in a word or two: "cannot connect", "lost", "timeout", ...
[[nodiscard]] std::string_view kind_of(const Error& error) noexcept;

}  // namespace weft::measure
