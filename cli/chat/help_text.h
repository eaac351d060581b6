#pragma once

#include <cstddef>
#include <string>

namespace weft::cli {

/// What /help prints: the commands, in lines of at most `columns` characters that end between
/// words.
[[nodiscard]] std::string help_text(std::size_t columns);

}  // namespace weft::cli
