#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// Whether models' markup treats `c` as white space.
[[nodiscard]] constexpr bool is_markup_space(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Finds tags in a text that arrives in parts. Only a possible beginning of a tag is held back,
/// which is less than the longest tag. No tag is the beginning of another; each has at most some
/// dozens of bytes, and begins with ASCII. Owner only.
class TagScanner {
 public:
  /// Sets the tags to look for; called while nothing is held back. The tags are borrowed. Empty
  /// tags are never found.
  void watch(std::vector<std::string_view> tags) {
    tags_ = std::move(tags);
    first_bytes_.clear();
    for (const std::string_view tag : tags_) {
      if (!tag.empty()) first_bytes_.push_back(tag.front());
    }
  }

  /// Moves on through `text`, and calls plain(run) with text that belongs to no tag. Returns the
  /// index of a complete tag; `text` then begins after it. Returns nothing once `text` is used up.
  template <class Plain>
  std::optional<std::size_t> scan(std::string_view& text, Plain&& plain) {
    while (!text.empty()) {
      if (held_.empty() && !skip_plain(text, plain)) return std::nullopt;
      held_.push_back(text.front());
      text.remove_prefix(1);
      if (const auto found = settle(plain)) return found;
    }
    return std::nullopt;
  }

  /// Returns how many bytes are held back.
  [[nodiscard]] std::size_t held() const noexcept { return held_.size(); }

  /// Passes on the held-back text, because no more text comes.
  template <class Plain>
  void flush(Plain&& plain) {
    if (!held_.empty()) plain(std::string_view(held_));
    held_.clear();
  }

 private:
  /// Passes on text that begins no tag; returns false when `text` is used up.
  template <class Plain>
  bool skip_plain(std::string_view& text, Plain& plain) {
    const std::size_t run = std::min(text.find_first_of(first_bytes_), text.size());
    if (run > 0) plain(text.substr(0, run));
    text.remove_prefix(run);
    return !text.empty();
  }

  /// Passes on the first held-back bytes until the rest is a beginning of a tag, or a whole tag.
  template <class Plain>
  std::optional<std::size_t> settle(Plain& plain) {
    std::string_view rest = held_;
    while (!rest.empty()) {
      const auto tag = std::ranges::find_if(
          tags_, [rest](std::string_view one) { return one.starts_with(rest); });
      if (tag != tags_.end()) {
        if (rest.size() == held_.size() && *tag != rest) return std::nullopt;
        const bool whole = *tag == rest;
        give_up(held_.size() - rest.size(), plain);
        if (!whole) return std::nullopt;
        held_.clear();
        return static_cast<std::size_t>(tag - tags_.begin());
      }
      rest.remove_prefix(1);
    }
    give_up(held_.size(), plain);
    return std::nullopt;
  }

  template <class Plain>
  void give_up(std::size_t bytes, Plain& plain) {
    if (bytes > 0) plain(std::string_view(held_).substr(0, bytes));
    held_.erase(0, bytes);
  }

  std::vector<std::string_view> tags_;
  std::string first_bytes_;
  std::string held_;
};

}  // namespace weft
