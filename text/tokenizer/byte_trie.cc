#include "weft/text/tokenizer/byte_trie.h"

#include <algorithm>

namespace weft {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, TokenId>> entries) {
  std::ranges::stable_sort(entries, {}, &std::pair<std::string_view, TokenId>::first);
  // A range of sorted entries that agree in their first `depth` bytes.
  struct Todo {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;
  };
  std::vector<Todo> todo = {{0, entries.size(), 0}};
  nodes_.emplace_back();
  labels_.push_back('\0');
  for (std::size_t node = 0; node < todo.size(); ++node) {
    auto [at, end, depth] = todo[node];
    for (; at < end && entries[at].first.size() == depth; ++at) {
      if (depth > 0) nodes_[node].id = entries[at].second;
    }
    nodes_[node].first = static_cast<std::uint32_t>(nodes_.size());
    while (at < end) {
      const char byte = entries[at].first[depth];
      const std::size_t begin = at;
      while (at < end && entries[at].first[depth] == byte) ++at;
      todo.push_back({begin, at, depth + 1});
      nodes_.emplace_back();
      labels_.push_back(byte);
      ++nodes_[node].children;
    }
  }
}

}  // namespace weft
