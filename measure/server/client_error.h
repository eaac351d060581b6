#pragma once

#include <string_view>

#include "weft/core/error/error.h"

namespace weft::measure {

/// In a word or two what a client's error is in a report: "cannot connect", "lost", "timeout", ...
[[nodiscard]] std::string_view kind_of(const Error& error) noexcept;

}  // namespace weft::measure
