#include <algorithm>
#include <string>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/engine/lazy_automaton.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// Whole characters that must follow a state, one after the other.
struct LazyAutomaton::ForcedText {
  std::string bytes;
  State end = kDead;           ///< the state after these characters
  TokenId special = kNoToken;  ///< the special token that must follow there, if any
};

/// Returns nothing where the output may end, even if only one text could follow.
LazyAutomaton::Only LazyAutomaton::only_next(State state) {
  const std::scoped_lock lock(mutex_);
  Only only;
  if (states_[state].accepts) return only;
  for (const std::uint32_t index : cells_of(state)) {
    const Cell& top = cells_[index];
    const Node& node = grammar_.nodes[top.node];
    Only here;
    if (node.kind == NodeKind::kSpecial) {
      here.special = trie_.special(grammar_.text(node));
    } else if (node.kind == NodeKind::kLiteral) {
      here.byte = static_cast<std::uint8_t>(grammar_.bytes[node.first + top.a]);
    } else {
      const auto edges = grammar_.dfas[node.first].edges_of(top.a);
      if (edges.size() != 1 || edges.front().low != edges.front().high) return {};
      here.byte = edges.front().low;
    }
    const bool is_first = only.byte < 0 && only.special == kNoToken;
    if (!is_first && (here.byte != only.byte || here.special != only.special)) return {};
    only = here;
  }
  return only;
}

LazyAutomaton::ForcedText LazyAutomaton::forced_text(State state, Allowance& allowance) {
  ForcedText text{{}, state, kNoToken};
  std::size_t whole = 0;  // bytes up to `text.end`
  Only next = only_next(state);
  while (next.byte >= 0 && text.bytes.size() < defaults::kMaxForcedBytes) {
    allowance.spend(1);
    text.bytes.push_back(static_cast<char>(next.byte));
    state = step(state, static_cast<std::uint8_t>(next.byte), allowance);
    next = only_next(state);
    if (!is_utf8(std::string_view(text.bytes).substr(whole))) continue;
    whole = text.bytes.size();
    text.end = state;
  }
  if (whole == text.bytes.size()) text.special = next.special;
  text.bytes.resize(whole);
  return text;
}

const std::vector<TokenId>& LazyAutomaton::forced(State state, Allowance& allowance) {
  if (const auto* known = states_[state].forced.load(std::memory_order_acquire)) return *known;
  std::vector<TokenId> found;
  try {
    found = find_forced(state, allowance);
  } catch (const TooMuchWork&) {
    found.clear();
  }
  const std::scoped_lock lock(mutex_);
  std::atomic<const std::vector<TokenId>*>& place = states_[state].forced;
  if (const auto* known = place.load(std::memory_order_relaxed)) return *known;
  add_bytes(sizeof(std::vector<TokenId>) + found.size() * sizeof(TokenId));
  const std::vector<TokenId>& made = forced_.emplace_back(std::move(found));
  place.store(&made, std::memory_order_release);
  return made;
}

/// Texts with special tokens between them; a special token ends a text for the tokenizer too.
std::vector<TokenId> LazyAutomaton::find_forced(State state, Allowance& allowance) {
  std::vector<TokenId> all;
  std::vector<TokenId> tokens;
  while (all.size() < kMaxForcedTokens) {
    ForcedText text = forced_text(state, allowance);
    if (!text.bytes.empty()) {
      allowance.spend(text.bytes.size() * 8);  // the tokenizer's cost
      if (!trie_.spell(text.bytes, tokens)) break;
      const std::size_t kept =
          text.special != kNoToken ? tokens.size() : settled(tokens, text, allowance);
      all.insert(all.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    if (text.special == kNoToken) break;
    all.push_back(text.special);
    state = step_special(text.end, text.special, allowance);
  }
  all.resize(std::min(all.size(), kMaxForcedTokens));
  return all;
}

/// Returns how many of a text's tokens stay the same whatever text follows. The model writes the
/// other tokens itself, because at the first of them it could choose a longer token that goes
/// beyond the text.
std::size_t LazyAutomaton::settled(std::span<const TokenId> tokens, const ForcedText& text,
                                   Allowance& allowance) {
  std::string_view rest = text.bytes;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (goes_beyond(rest, text.end, allowance)) return i;
    rest.remove_prefix(trie_.bytes(tokens[i]).size());
  }
  return tokens.size();
}

/// Whether an allowed token begins with `rest` and is longer. `end` is the state after `rest`.
bool LazyAutomaton::goes_beyond(std::string_view rest, State end, Allowance& allowance) {
  const ByteTrie& trie = trie_.slice(0).others;
  std::size_t at = 0;
  std::size_t behind = trie.nodes.size() - 1;
  for (const char byte : rest) {
    while (at < behind && trie.nodes[at].byte != static_cast<std::uint8_t>(byte)) {
      allowance.spend(1);
      at = trie.nodes[at].after;
    }
    if (at >= behind) return false;
    behind = trie.nodes[at++].after;
  }
  std::vector<State> path(1, end);  // states by depth, from the end of `rest` on
  while (at < behind) {
    allowance.spend(1);
    const ByteTrie::Node& node = trie.nodes[at];
    const std::size_t depth = node.depth - rest.size();
    const State to = step(path[depth], node.byte, allowance);
    if (to == kDead) {
      at = node.after;
      continue;
    }
    if (trie.nodes[++at].token != node.token) return true;
    path.resize(std::max(path.size(), depth + 2));
    path[depth + 1] = to;
  }
  return false;
}

}  // namespace weft::grammar
