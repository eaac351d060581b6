#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "weft/text/jinja/run.h"

namespace weft::jinja {

struct WrapOptions {
  std::size_t width = 79;  ///< At least 1.
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

/// Appends one line of text wrapped like Python's textwrap.wrap() without expand_tabs and
/// replace_whitespace, its pieces joined by `separator`.
void append_wrapped(TextBuilder& out, std::string_view line, const WrapOptions& options,
                    std::string_view separator);

}  // namespace weft::jinja
