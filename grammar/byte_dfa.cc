#include "weft/grammar/byte_dfa.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "weft/core/text/utf8.h"

namespace weft::grammar {
namespace {

constexpr char32_t kLastCode = 0x10FFFF;
constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

using ByteRange = DfaDraft::ByteRange;

/// Calls `each` with the byte ranges of UTF-8 sequences that together encode low .. high, which
/// holds no surrogate: cut where the length changes, then where a continuation byte does not run
/// over its whole range (as in RE2's compile.cc, AddRuneRangeUTF8).
template <class Each>
void for_each_utf8_range(char32_t low, char32_t high, const Each& each) {
  for (const char32_t last : {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xFFFF}}) {
    if (low <= last && high > last) {
      for_each_utf8_range(low, last, each);
      return for_each_utf8_range(last + 1, high, each);
    }
  }
  for (const unsigned bits : {6U, 12U, 18U}) {
    const char32_t mask = (char32_t{1} << bits) - 1;
    if (high <= 0x7F || (low & ~mask) == (high & ~mask)) continue;
    if ((low & mask) != 0) {
      for_each_utf8_range(low, low | mask, each);
      return for_each_utf8_range((low | mask) + 1, high, each);
    }
    if ((high & mask) != mask) {
      for_each_utf8_range(low, (high & ~mask) - 1, each);
      return for_each_utf8_range(high & ~mask, high, each);
    }
  }
  const std::string from = to_utf8(low);
  const std::string to = to_utf8(high);
  std::array<ByteRange, 4> path{};
  for (std::size_t i = 0; i < from.size(); ++i) {
    path[i] = {static_cast<std::uint8_t>(from[i]), static_cast<std::uint8_t>(to[i])};
  }
  each(std::span(path).first(from.size()));
}

void add_set(DfaDraft& draft, const CodeSet& set, std::uint32_t end) {
  for (const CodeRange& range : set.ranges()) {
    for_each_utf8_range(range.first, range.second,
                        [&](std::span<const ByteRange> path) { draft.add_path(0, path, end); });
  }
}

CodeSet escaped_in_json() {
  return CodeSet({{0, 0x1F}, {U'"', U'"'}, {U'\\', U'\\'}});
}

std::string json_escape(char32_t code) {
  switch (code) {
    case U'"':
      return "\\\"";
    case U'\\':
      return "\\\\";
    case U'\b':
      return "\\b";
    case U'\f':
      return "\\f";
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    default: {
      constexpr std::string_view kDigits = "0123456789abcdef";
      return std::string("\\u00") + kDigits[code >> 4U] + kDigits[code & 0xFU];
    }
  }
}

bool covers_text(const CodeSet& set) {
  return CodeSet::all().without(escaped_in_json()).without(set).empty();
}

void add_text(DfaDraft& draft, std::uint32_t from, std::string_view text, std::uint32_t end) {
  std::vector<ByteRange> path;
  for (const char c : text) {
    path.emplace_back(static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c));
  }
  draft.add_path(from, path, end);
}

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

/// The texts that are forbidden, as a trie with where to go on after a byte that does not fit
/// (Aho and Corasick, "Efficient string matching", 1975).
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
  /// Makes it look for the texts anywhere.
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

/// The automaton of repeated characters (`characters` accepts one) while the trie says no: a text
/// may not end in a node that ends (`whole`), or not come past one.
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
        const std::uint32_t next =
            node == kNowhere ? kNowhere : forbidden.nodes[node].next[byte];
        if (!whole && forbidden.nodes[next].ends) continue;
        const auto one = static_cast<std::uint8_t>(byte);
        draft.add_edge(from, {one, one}, state_of({is_end ? 0 : edge.to, next}));
      }
    }
  }
  return draft.finish();
}

/// The last byte of those from `byte` on that with_length() does not tell apart.
unsigned last_alike(unsigned byte) {
  for (const unsigned end : {unsigned{'\\'}, unsigned{'\\'} + 1, unsigned{'u'}, unsigned{'u'} + 1, 0x80U,
                             0xC0U, 0x100U}) {
    if (byte < end) return end - 1;
  }
  return byte;
}

}  // namespace

std::uint32_t DfaDraft::add_state(bool accepts) {
  states_.push_back({{}, accepts});
  return static_cast<std::uint32_t>(states_.size() - 1);
}

void DfaDraft::add_edge(std::uint32_t from, ByteRange bytes, std::uint32_t to) {
  states_[from].edges.push_back({bytes.first, bytes.second, to});
}

std::uint32_t DfaDraft::follow(std::uint32_t from, ByteRange bytes) {
  for (const ByteDfa::Edge& edge : states_[from].edges) {
    if (edge.low == bytes.first && edge.high == bytes.second) return edge.to;
  }
  const std::uint32_t to = add_state(false);
  add_edge(from, bytes, to);
  return to;
}

void DfaDraft::add_path(std::uint32_t from, std::span<const ByteRange> path, std::uint32_t end) {
  for (const ByteRange& bytes : path.first(path.size() - 1)) from = follow(from, bytes);
  add_edge(from, path.back(), end);
}

/// The states from which one that accepts can be reached.
std::vector<bool> DfaDraft::alive() const {
  std::vector<std::vector<std::uint32_t>> before(states_.size());
  std::vector<bool> result(states_.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    for (const ByteDfa::Edge& edge : states_[i].edges) before[edge.to].push_back(i);
    if (states_[i].accepts) {
      result[i] = true;
      open.push_back(i);
    }
  }
  while (!open.empty()) {
    const std::uint32_t state = open.back();
    open.pop_back();
    for (const std::uint32_t from : before[state]) {
      if (result[from]) continue;
      result[from] = true;
      open.push_back(from);
    }
  }
  return result;
}

ByteDfa DfaDraft::finish() const {
  ByteDfa dfa;
  const std::vector<bool> kept = alive();
  for (const State& state : states_) {
    std::vector<ByteDfa::Edge> edges;
    std::ranges::copy_if(state.edges, std::back_inserter(edges),
                         [&](const ByteDfa::Edge& edge) { return kept[edge.to]; });
    std::ranges::sort(edges, {}, &ByteDfa::Edge::low);
    const auto first = static_cast<std::uint32_t>(dfa.edges.size());
    for (const ByteDfa::Edge& edge : edges) {
      const bool joins = dfa.edges.size() > first && dfa.edges.back().to == edge.to &&
                         dfa.edges.back().high + 1 == edge.low;
      if (joins) {
        dfa.edges.back().high = edge.high;
      } else {
        dfa.edges.push_back(edge);
      }
    }
    dfa.states.push_back(
        {first, static_cast<std::uint32_t>(dfa.edges.size()) - first, state.accepts});
  }
  return dfa;
}

CodeSet::CodeSet(std::vector<CodeRange> ranges) {
  std::ranges::sort(ranges);
  for (CodeRange range : ranges) {
    if (range.first >= kFirstSurrogate && range.first <= kLastSurrogate) {
      range.first = kLastSurrogate + 1;
    }
    if (range.second >= kFirstSurrogate && range.second <= kLastSurrogate) {
      range.second = kFirstSurrogate - 1;
    }
    if (range.first > range.second) continue;
    if (range.first < kFirstSurrogate && range.second > kLastSurrogate) {
      if (!ranges_.empty() && ranges_.back().second + 1 >= range.first) {
        ranges_.back().second = std::max<char32_t>(ranges_.back().second, kFirstSurrogate - 1);
      } else {
        ranges_.emplace_back(range.first, kFirstSurrogate - 1);
      }
      range.first = kLastSurrogate + 1;
    }
    if (!ranges_.empty() && ranges_.back().second + 1 >= range.first) {
      ranges_.back().second = std::max(ranges_.back().second, range.second);
    } else {
      ranges_.push_back(range);
    }
  }
}

CodeSet CodeSet::all() { return CodeSet({{0, kLastCode}}); }

bool CodeSet::has(char32_t code) const noexcept {
  return std::ranges::any_of(ranges_, [code](const CodeRange& range) {
    return range.first <= code && code <= range.second;
  });
}

CodeSet CodeSet::complement() const {
  std::vector<CodeRange> rest;
  char32_t next = 0;
  for (const CodeRange& range : ranges_) {
    if (range.first > next) rest.emplace_back(next, range.first - 1);
    next = range.second + 1;
  }
  if (next <= kLastCode) rest.emplace_back(next, kLastCode);
  return CodeSet(std::move(rest));
}

CodeSet CodeSet::united(const CodeSet& other) const {
  std::vector<CodeRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodeSet(std::move(both));
}

CodeSet CodeSet::without(const CodeSet& other) const {
  return complement().united(other).complement();
}

ByteDfa utf8_dfa(const CodeSet& set) {
  DfaDraft draft;
  draft.add_state(false);
  add_set(draft, set, draft.add_state(true));
  ByteDfa dfa = draft.finish();
  dfa.covers_text = covers_text(set);
  return dfa;
}

ByteDfa json_character_dfa(const CodeSet& set) {
  DfaDraft draft;
  draft.add_state(false);
  const std::uint32_t end = draft.add_state(true);
  const CodeSet escaped = escaped_in_json();
  add_set(draft, set.without(escaped), end);
  for (const CodeRange& range : escaped.ranges()) {
    for (char32_t code = range.first; code <= range.second; ++code) {
      if (set.has(code)) add_text(draft, 0, json_escape(code), end);
    }
  }
  ByteDfa dfa = draft.finish();
  dfa.covers_text = covers_text(set);
  return dfa;
}

ByteDfa any_json_character_dfa() {
  DfaDraft draft;
  draft.add_state(false);
  const std::uint32_t end = draft.add_state(true);
  add_set(draft, escaped_in_json().complement(), end);
  const std::uint32_t escape = draft.follow(0, {'\\', '\\'});
  for (const char c : std::string_view("\"\\/bfnrt")) add_text(draft, escape, {&c, 1}, end);
  const std::uint32_t hex = draft.follow(escape, {'u', 'u'});
  const auto add_hex = [&](std::uint32_t from, ByteRange bytes, std::uint32_t to) {
    const ByteRange digits{bytes.first, std::min<std::uint8_t>(bytes.second, '9')};
    if (digits.first <= digits.second) draft.add_edge(from, digits, to);
    if (bytes.second < 'A') return;
    const std::uint8_t low = std::max<std::uint8_t>(bytes.first, 'A');
    draft.add_edge(from, {low, bytes.second}, to);
    draft.add_edge(from, {static_cast<std::uint8_t>(low + 32),
                          static_cast<std::uint8_t>(bytes.second + 32)}, to);
  };
  const std::uint32_t last = draft.add_state(false);
  const std::uint32_t two_left = draft.add_state(false);
  const std::uint32_t three_left = draft.add_state(false);
  add_hex(last, {'0', 'F'}, end);
  add_hex(two_left, {'0', 'F'}, last);
  add_hex(three_left, {'0', 'F'}, two_left);
  add_hex(hex, {'0', 'C'}, three_left);
  add_hex(hex, {'E', 'F'}, three_left);
  const std::uint32_t maybe_surrogate = draft.add_state(false);
  add_hex(hex, {'D', 'D'}, maybe_surrogate);
  add_hex(maybe_surrogate, {'0', '7'}, two_left);
  std::array<std::uint32_t, 7> path{};  // of a high surrogate's rest and the low one
  for (std::uint32_t& state : path) state = draft.add_state(false);
  add_hex(maybe_surrogate, {'8', 'B'}, path[0]);
  add_hex(path[0], {'0', 'F'}, path[1]);
  add_hex(path[1], {'0', 'F'}, path[2]);
  draft.add_edge(path[2], {'\\', '\\'}, path[3]);
  draft.add_edge(path[3], {'u', 'u'}, path[4]);
  add_hex(path[4], {'D', 'D'}, path[5]);
  add_hex(path[5], {'C', 'F'}, two_left);
  ByteDfa dfa = draft.finish();
  dfa.covers_text = true;
  return dfa;
}

std::string json_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool escaped = static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    if (escaped) {
      out += json_escape(static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

ByteDfa multiples_dfa(std::uint32_t divisor) {
  DfaDraft draft;
  const std::uint32_t start = draft.add_state(false);
  const std::uint32_t minus = draft.add_state(false);
  const std::uint32_t zero = draft.add_state(true);
  for (std::uint32_t rest = 0; rest < divisor; ++rest) draft.add_state(rest == 0);
  const auto add_digits = [&](std::uint32_t from, std::uint32_t rest, char first) {
    for (char digit = first; digit <= '9'; ++digit) {
      const auto byte = static_cast<std::uint8_t>(digit);
      const std::uint32_t to = (rest * 10 + static_cast<std::uint32_t>(digit - '0')) % divisor;
      draft.add_edge(from, {byte, byte}, 3 + to);
    }
  };
  draft.add_edge(start, {'-', '-'}, minus);
  draft.add_edge(start, {'0', '0'}, zero);
  add_digits(start, 0, '1');
  add_digits(minus, 0, '1');
  for (std::uint32_t rest = 0; rest < divisor; ++rest) add_digits(3 + rest, rest, '0');
  return draft.finish();
}

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

ByteDfa json_text_except(std::span<const std::string> texts) {
  return avoid(json_character_dfa(CodeSet::all()), Forbidden(texts), true);
}

std::optional<ByteDfa> with_length(const ByteDfa& contents, std::uint64_t least,
                                   std::uint64_t most) {
  constexpr std::size_t kMostStates = 60'000;
  const bool is_bounded = most < std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t top = is_bounded ? most : least;
  // A state of the contents, how far an escape has come, and how many characters have begun. An
  // escape is a character: one byte follows the backslash, or a "u" and four digits.
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
      // Stretches of bytes that mean the same.
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
