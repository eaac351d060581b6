#pragma once

#include <algorithm>
#include <string_view>

namespace weft {

/// Takes the first word off `line`; empty when there is none. Blanks, tabs and carriage returns
/// stand between words.
[[nodiscard]] constexpr std::string_view next_word(std::string_view& line) noexcept {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

/// Takes the first line off `text`, and its end.
[[nodiscard]] constexpr std::string_view next_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace weft
