#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weft::jinja {

/// datetime.strftime() of a time without a zone, in the C locale, with glibc's flags - _ 0 ^.
/// Nothing for a directive that is not known.
[[nodiscard]] std::optional<std::string> format_time(std::chrono::local_seconds time,
                                                     std::string_view format);

}  // namespace weft::jinja
