#pragma once

#include <cstddef>
#include <string>

namespace weft::cli {

/// Returns the text of /help: the commands, in lines of at most `columns` characters that end
/// between words.
[[nodiscard]] std::string help_text(std::size_t columns);

}  // namespace weft::cli
