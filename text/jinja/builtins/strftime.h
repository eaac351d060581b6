#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weft::jinja {

/// Returns datetime.strftime() of a time without a zone, in the C locale, with glibc's flags - _ 0
/// ^. Returns nothing for an unknown directive.
[[nodiscard]] std::optional<std::string> format_time(std::chrono::local_seconds time,
                                                     std::string_view format);

}  // namespace weft::jinja
