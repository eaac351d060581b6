#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::measure {

/// Returns `text` as one line that can be shown: valid UTF-8, with spaces for line ends and tabs,
/// and U+FFFD for each other control character. A server's text then neither moves a terminal's
/// cursor nor breaks XML.
[[nodiscard]] std::string visible(std::string_view text);

/// Returns visible(text), escaped for HTML, XML and the quotes of an attribute.
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns the columns of a terminal that visible text takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

}  // namespace weft::measure
