#pragma once

#include <string>

#include "weft/config/config_draft.h"

namespace weft {

enum class PrintedKeys : std::uint8_t {
  kAll,
  kChanged,  ///< those that have not their default
};

/// The draft's FileConfig as a TOML file that explains itself: of each key what it is, why it has
/// its default, the range, and who set it. Read again it gives the same, but for secret keys, which
/// stand there as a comment.
[[nodiscard]] std::string print_config(const ConfigDraft& draft, PrintedKeys keys);

/// `text` in lines of at most `width` characters, cut between words, each but the first behind a
/// line break and `indent`.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width,
                                  std::string_view indent);

}  // namespace weft
