#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/grammar/byte_dfa.h"

namespace weft::grammar {
namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

/// The forbidden texts, as a trie that knows where to continue after a byte that does not fit (Aho
/// and Corasick, "Efficient string matching", 1975).
struct Forbidden {
  struct Node {
    std::array<std::uint32_t, 256> next;
    bool ends = false;
  };
  std::vector<Node> nodes;

  explicit Forbidden(std::span<const std::string> texts) {
    nodes.push_back({});
    nodes[0].next.fill(kNowhere);
    for (const std::string& text : texts) add(text);
  }
  void add(std::string_view text) {
    std::uint32_t at = 0;
    for (const char c : text) {
      const auto byte = static_cast<std::uint8_t>(c);
      if (nodes[at].next[byte] == kNowhere) {
        const auto made = static_cast<std::uint32_t>(nodes.size());
        nodes[at].next[byte] = made;
        nodes.push_back({});
        nodes.back().next.fill(kNowhere);
      }
      at = nodes[at].next[byte];
    }
    nodes[at].ends = true;
  }
  /// Makes the trie search for the texts anywhere.
  void search() {
    std::vector<std::uint32_t> order{0};
    std::vector<std::uint32_t> back(nodes.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t at = order[i];
      nodes[at].ends = nodes[at].ends || nodes[back[at]].ends;
      for (std::size_t byte = 0; byte < 256; ++byte) {
        std::uint32_t& next = nodes[at].next[byte];
        const std::uint32_t other = at == 0 ? 0 : nodes[back[at]].next[byte];
        if (next == kNowhere) {
          next = other;
        } else {
          back[next] = other;
          order.push_back(next);
        }
      }
    }
  }
};

/// Returns the automaton of repeated characters (`characters` accepts one) that avoids the
/// forbidden texts. With `whole` a text must not end in an ending node, else it must not pass one.
ByteDfa avoid(const ByteDfa& characters, const Forbidden& forbidden, bool whole) {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  DfaDraft draft;
  std::map<Pair, std::uint32_t> known;
  std::vector<Pair> open;
  const auto state_of = [&](Pair pair) {
    const auto [found, is_new] = known.try_emplace(pair, 0);
    if (!is_new) return found->second;
    const bool ends = pair.second != kNowhere && forbidden.nodes[pair.second].ends;
    found->second = draft.add_state(pair.first == 0 && !(whole && ends));
    open.push_back(pair);
    return found->second;
  };
  state_of({0, 0});
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [character, node] = open[i];
    const std::uint32_t from = known[open[i]];
    for (const ByteDfa::Edge& edge : characters.edges_of(character)) {
      const bool is_end = characters.states[edge.to].accepts;
      for (unsigned byte = edge.low; byte <= edge.high; ++byte) {
        const std::uint32_t next = node == kNowhere ? kNowhere : forbidden.nodes[node].next[byte];
        if (!whole && forbidden.nodes[next].ends) continue;
        const auto one = static_cast<std::uint8_t>(byte);
        draft.add_edge(from, {one, one}, state_of({is_end ? 0 : edge.to, next}));
      }
    }
  }
  return draft.finish();
}

/// Returns the last byte in a row from `byte` on that with_length() treats alike.
unsigned last_alike(unsigned byte) {
  for (const unsigned end : {unsigned{'\\'}, unsigned{'\\'} + 1, unsigned{'u'}, unsigned{'u'} + 1,
                             0x80U, 0xC0U, 0x100U}) {
    if (byte < end) return end - 1;
  }
  return byte;
}

}  // namespace

ByteDfa choice_dfa(std::span<const std::string> texts) {
  DfaDraft draft;
  draft.add_state(false);
  for (const std::string& text : texts) {
    std::uint32_t at = 0;
    for (const char c : text) {
      const auto byte = static_cast<std::uint8_t>(c);
      at = draft.follow(at, {byte, byte});
    }
    draft.accept(at);
  }
  return draft.finish();
}

ByteDfa json_text_except(std::span<const std::string> texts, const CodeSet& characters) {
  return avoid(json_character_dfa(characters), Forbidden(texts), true);
}

std::optional<ByteDfa> with_length(const ByteDfa& contents, std::uint64_t least,
                                   std::uint64_t most) {
  constexpr std::size_t kMostStates = 12'000;
  const bool is_bounded = most < std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t top = is_bounded ? most : least;
  // A state of the contents, how far an escape has come, and the number of characters that have
  // begun. An escape is one character: the backslash is followed by one byte, or by a "u" and four
  // digits.
  using Key = std::tuple<std::uint32_t, int, std::uint64_t>;
  DfaDraft draft;
  std::map<Key, std::uint32_t> known;
  std::vector<Key> open;
  const auto state_of = [&](const Key& key) {
    const auto [found, is_new] = known.try_emplace(key, 0);
    if (!is_new) return found->second;
    const auto& [state, escape, count] = key;
    found->second =
        draft.add_state(contents.states[state].accepts && escape == 0 && count >= least);
    open.push_back(key);
    return found->second;
  };
  state_of({0, 0, 0});
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [state, escape, count] = open[i];
    const std::uint32_t from = known[open[i]];
    for (const ByteDfa::Edge& edge : contents.edges_of(state)) {
      // Goes over ranges of bytes that are treated alike.
      for (unsigned byte = edge.low; byte <= edge.high;) {
        const unsigned last = std::min<unsigned>(last_alike(byte), edge.high);
        const auto first = static_cast<std::uint8_t>(byte);
        const bool begins = escape == 0 && (byte & 0xC0U) != 0x80U;
        byte = last + 1;
        if (begins && is_bounded && count == most) continue;
        const std::uint64_t counted = begins ? std::min(count + 1, top) : count;
        int next = 0;
        if (escape == 0) {
          next = first == '\\' ? 1 : 0;
        } else if (escape == 1) {
          next = first == 'u' ? 2 : 0;
        } else {
          next = escape == 5 ? 0 : escape + 1;
        }
        draft.add_edge(from, {first, static_cast<std::uint8_t>(last)},
                       state_of({edge.to, next, counted}));
      }
    }
    if (draft.states() > kMostStates) return std::nullopt;
  }
  return draft.finish();
}

ByteDfa text_without(std::span<const std::string> texts) {
  Forbidden forbidden(texts);
  forbidden.search();
  return avoid(utf8_dfa(CodeSet::all()), forbidden, false);
}

}  // namespace weft::grammar
