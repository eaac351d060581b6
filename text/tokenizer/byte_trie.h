#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// A trie over bytes. Its nodes are stored level by level, and the children of a node are adjacent.
/// Thread-safe once built.
class ByteTrie {
 public:
  struct Match {
    TokenId id = kNoToken;
    std::size_t length = 0;
  };

  ByteTrie() : ByteTrie(std::vector<std::pair<std::string_view, TokenId>>()) {}

  /// If texts are equal, the last one counts. Empty texts are left out.
  explicit ByteTrie(std::vector<std::pair<std::string_view, TokenId>> entries);

  /// Calls `on_match` for every entry with which `text` begins, the shortest first.
  template <class OnMatch>
  void for_each_prefix(std::string_view text, OnMatch&& on_match) const {
    std::uint32_t node = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      node = child(node, text[at]);
      if (node == 0) return;
      if (nodes_[node].id != kNoToken) on_match(Match{nodes_[node].id, at + 1});
    }
  }

  /// Returns the longest entry with which `text` begins; length 0 when there is none.
  [[nodiscard]] Match longest_prefix(std::string_view text) const {
    Match longest;
    for_each_prefix(text, [&](Match match) { longest = match; });
    return longest;
  }

  /// Whether an entry begins with `byte`.
  [[nodiscard]] bool begins(char byte) const noexcept { return child(0, byte) != 0; }

 private:
  struct Node {
    std::uint32_t first = 0;  ///< The first child.
    TokenId id = kNoToken;
    std::uint16_t children = 0;
  };

  /// Returns the child; 0, which is no node's child, when there is none.
  [[nodiscard]] std::uint32_t child(std::uint32_t node, char byte) const noexcept {
    const Node& parent = nodes_[node];
    if (parent.children == 0) return 0;
    const char* labels = labels_.data() + parent.first;
    const void* found = std::memchr(labels, static_cast<unsigned char>(byte), parent.children);
    if (found == nullptr) return 0;
    return parent.first + static_cast<std::uint32_t>(static_cast<const char*>(found) - labels);
  }

  std::vector<Node> nodes_;
  std::string labels_;  ///< By node: the byte that leads to it.
};

}  // namespace weft
