#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "weft/core/text/utf8.h"

namespace weft {

/// Rewrites valid UTF-8: `change(out, code)` appends the replacement of one character.
template <class Change>
void change_each(std::string& text, Change change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    change(out, c.code);
    at += c.length;
  }
  text = std::move(out);
}

}  // namespace weft
