#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "weft/text/jinja/limits.h"

namespace weft::jinja {

/// Returns the parts in one string, with one allocation. For messages: each part is cut to the
/// length that a message shows, because a template may make parts of megabytes.
[[nodiscard]] inline std::string concat(std::initializer_list<std::string_view> parts) {
  constexpr std::size_t kMost = 2 * kMaxMessageBytes;  // the message is cut once more, at a
                                                       // character's end
  std::size_t size = 0;
  for (const std::string_view part : parts) size += std::min(part.size(), kMost);
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text.append(part.substr(0, kMost));
  return text;
}

}  // namespace weft::jinja
