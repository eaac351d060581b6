#pragma once

#include <string_view>

namespace weft {

/// Returns the path of the field that `text` begins with: a name, with dots and indices ("stop[1]",
/// "dry.base"). Empty when it begins with none.
[[nodiscard]] constexpr std::string_view leading_field(std::string_view text) noexcept {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view kDigits = "0123456789";
  if (text.empty() || kFirst.find(text.front()) == std::string_view::npos) return {};
  std::size_t end = 0;
  while (end < text.size() && (kFirst.find(text[end]) != std::string_view::npos ||
                               kDigits.find(text[end]) != std::string_view::npos ||
                               std::string_view(".[]").find(text[end]) != std::string_view::npos)) {
    ++end;
  }
  while (text[end - 1] == '.') --end;  // dots that end a sentence
  return text.substr(0, end);
}

}  // namespace weft
