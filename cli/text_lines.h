#pragma once

#include <string_view>

namespace weft::cli {

/// Returns the first line of `text`, without its end; `text` keeps what follows.
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// Whether the line has nothing but space.
[[nodiscard]] bool is_blank(std::string_view line);

}  // namespace weft::cli
