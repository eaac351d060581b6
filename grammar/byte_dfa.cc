#include "weft/grammar/byte_dfa.h"

#include <algorithm>
#include <array>

#include "weft/core/text/utf8.h"

namespace weft::grammar {
namespace {

using ByteRange = DfaDraft::ByteRange;

/// Calls `each` with the byte ranges of UTF-8 sequences that together encode low .. high, a range
/// without surrogates. The range is cut where the encoded length changes, then where a continuation
/// byte does not take all of its values (as in RE2's compile.cc, AddRuneRangeUTF8).
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

CodeSet escaped_in_json() { return CodeSet({{0, 0x1F}, {U'"', U'"'}, {U'\\', U'\\'}}); }

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

/// Returns for each state whether it can reach an accepting state.
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

ByteDfa any_json_character_dfa(const CodeSet& plain) {
  DfaDraft draft;
  draft.add_state(false);
  const std::uint32_t end = draft.add_state(true);
  add_set(draft, plain.without(escaped_in_json()), end);
  const std::uint32_t escape = draft.follow(0, {'\\', '\\'});
  for (const char c : std::string_view("\"\\/bfnrt")) add_text(draft, escape, {&c, 1}, end);
  const std::uint32_t hex = draft.follow(escape, {'u', 'u'});
  const auto add_hex = [&](std::uint32_t from, ByteRange bytes, std::uint32_t to) {
    const ByteRange digits{bytes.first, std::min<std::uint8_t>(bytes.second, '9')};
    if (digits.first <= digits.second) draft.add_edge(from, digits, to);
    if (bytes.second < 'A') return;
    const std::uint8_t low = std::max<std::uint8_t>(bytes.first, 'A');
    draft.add_edge(from, {low, bytes.second}, to);
    draft.add_edge(
        from, {static_cast<std::uint8_t>(low + 32), static_cast<std::uint8_t>(bytes.second + 32)},
        to);
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
  std::array<std::uint32_t, 7> path{};  // bytes after the first of a high surrogate, and all of the
                                        // low one
  for (std::uint32_t& state : path) state = draft.add_state(false);
  add_hex(maybe_surrogate, {'8', 'B'}, path[0]);
  add_hex(path[0], {'0', 'F'}, path[1]);
  add_hex(path[1], {'0', 'F'}, path[2]);
  draft.add_edge(path[2], {'\\', '\\'}, path[3]);
  draft.add_edge(path[3], {'u', 'u'}, path[4]);
  add_hex(path[4], {'D', 'D'}, path[5]);
  add_hex(path[5], {'C', 'F'}, two_left);
  ByteDfa dfa = draft.finish();
  dfa.covers_text = covers_text(plain);
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

}  // namespace weft::grammar
