#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory_resource>
#include <string_view>

namespace weft::jinja {

/// The bytes begin .. end - 1 of a text.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Knows which memory of a rendering holds text that a client wrote, so that a prompt's bytes can
/// be divided into the template's and the client's. Texts are views, and a part of a client's text
/// lies inside that text's memory, however the template has cut it. A concatenated text is a copy,
/// so TextBuilder enters the client's parts of the copy here. An entered text stays in place until
/// the rendering ends. Owner only.
class ClientText {
 public:
  explicit ClientText(std::pmr::memory_resource* memory) : ends_(memory) {}

  /// Enters a text, which must not overlap with another entered text.
  void add(std::string_view text) {
    if (!text.empty()) ends_.emplace(text.data(), text.data() + text.size());
  }

  /// Calls `on_range` with the ranges of `text` that a client wrote, in their order.
  template <class OnRange>
  void for_each_range(std::string_view text, OnRange&& on_range) const {
    if (ends_.empty() || text.empty()) return;
    const char* const text_end = text.data() + text.size();
    auto part = ends_.upper_bound(text.data());
    if (part != ends_.begin()) --part;
    for (; part != ends_.end() && std::less<>()(part->first, text_end); ++part) {
      if (!std::less<>()(text.data(), part->second)) continue;
      const char* const begin = std::max(text.data(), part->first, std::less<>());
      const char* const end = std::min(text_end, part->second, std::less<>());
      on_range(ByteRange{static_cast<std::size_t>(begin - text.data()),
                         static_cast<std::size_t>(end - text.data())});
    }
  }

  /// Returns whether a client wrote any part of `text`.
  [[nodiscard]] bool any_in(std::string_view text) const {
    bool any = false;
    for_each_range(text, [&](ByteRange /*range*/) { any = true; });
    return any;
  }

 private:
  std::pmr::map<const char*, const char*, std::less<>> ends_;  ///< end of each text, by its
                                                               ///< beginning
};

}  // namespace weft::jinja
