#pragma once

#include <string>

#include "weft/config/config_draft.h"

namespace weft {

enum class PrintedKeys : std::uint8_t {
  kAll,
  kChanged,  ///< the keys that do not have their default
};

/// Writes the draft's FileConfig as a TOML file that explains itself: for each key its meaning, the
/// reason of its default, its range, and its origin. Reading the file back gives the same
/// configuration, except for secret keys, which are comments in it.
[[nodiscard]] std::string print_config(const ConfigDraft& draft, PrintedKeys keys);

/// Breaks `text` between words into lines of at most `width` characters; each line but the first
/// begins with a line break and `indent`.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width,
                                  std::string_view indent);

}  // namespace weft
