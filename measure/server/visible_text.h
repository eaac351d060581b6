#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::measure {

/// Returns `text` as one line that can be shown: valid UTF-8, line ends and tabs as blanks, and
/// U+FFFD for each other control character, so that a name which a server gave neither moves a
/// terminal's cursor nor breaks XML.
[[nodiscard]] std::string visible(std::string_view text);

/// Returns visible(text), escaped for HTML, XML and the quotes of an attribute.
[[nodiscard]] std::string escaped(std::string_view text);

/// How many columns of a terminal visible text takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

}  // namespace weft::measure
