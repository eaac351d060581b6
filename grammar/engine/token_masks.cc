#include <algorithm>
#include <bit>
#include <utility>

#include "weft/grammar/engine/lazy_automaton.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {
namespace {

std::uint32_t bit_of(TokenId token) {
  return std::uint32_t{1} << (static_cast<std::uint32_t>(token) % 32);
}

std::size_t word_of(TokenId token) { return static_cast<std::size_t>(token) / 32; }

}  // namespace

/// A mask while it is made: a list while it is short, then bits.
class LazyAutomaton::MaskDraft {
 public:
  /// Begins with the tokens of a slice, none of which is added later.
  MaskDraft(const TokenTrie::Slice& slice, std::size_t words) : words_(words) {
    mask_.bits = slice.bits;
    mask_.count = slice.count;
  }

  /// Adds tokens that are not in the mask yet.
  void add(std::span<const TokenId> tokens) {
    mask_.count += static_cast<std::uint32_t>(tokens.size());
    if (mask_.bits.empty()) {
      if (mask_.count <= kMaxListedTokens) {
        mask_.tokens.insert(mask_.tokens.end(), tokens.begin(), tokens.end());
        return;
      }
      mask_.bits.resize(words_);
      set(std::exchange(mask_.tokens, {}));
    }
    set(tokens);
  }

  [[nodiscard]] TokenMask finish() && {
    if (mask_.bits.empty()) std::ranges::sort(mask_.tokens);
    if (!mask_.bits.empty() && mask_.count <= kMaxListedTokens) list();
    return std::move(mask_);
  }

 private:
  void set(std::span<const TokenId> tokens) {
    for (const TokenId token : tokens) mask_.bits[word_of(token)] |= bit_of(token);
  }
  /// Turns the slice's bits into a list; a small vocabulary has few.
  void list() {
    mask_.tokens.reserve(mask_.count);
    for (std::size_t i = 0; i < mask_.bits.size(); ++i) {
      for (std::uint32_t word = mask_.bits[i]; word != 0; word &= word - 1) {
        mask_.tokens.push_back(
            static_cast<TokenId>(i * 32 + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
    mask_.bits = {};
  }

  const std::size_t words_;
  TokenMask mask_;
};

/// Stands in a state for a mask that a thread is making.
const TokenMask* LazyAutomaton::being_made() {
  static const TokenMask mark;
  return &mark;
}

bool LazyAutomaton::has_mask(State state) const {
  const TokenMask* const known = states_[state].mask.load(std::memory_order_acquire);
  return known != nullptr && known != being_made();
}

const TokenMask& LazyAutomaton::mask(State state, Allowance& allowance) {
  std::atomic<const TokenMask*>& place = states_[state].mask;
  for (;;) {
    const TokenMask* known = place.load(std::memory_order_acquire);
    if (known == being_made()) {
      place.wait(known, std::memory_order_acquire);
    } else if (known != nullptr) {
      return *known;
    } else if (place.compare_exchange_strong(known, being_made(), std::memory_order_relaxed)) {
      break;
    }
  }
  const TokenMask* made = nullptr;
  const auto publish = [&] {
    place.store(made, std::memory_order_release);
    place.notify_all();
  };
  try {
    TokenMask mask = make_mask(state, allowance);
    const std::scoped_lock lock(mutex_);
    made = &masks_.emplace_back(std::move(mask));
  } catch (...) {
    publish();  // publishes no mask, so that a waiting thread tries with its own allowance
    throw;
  }
  add_bytes(sizeof(TokenMask) + 4 * (made->bits.size() + made->tokens.size()));
  publish();
  return *made;
}

TokenMask LazyAutomaton::make_mask(State state, Allowance& allowance) {
  const Outline outline = outline_of(state);
  const TokenTrie::Slice& slice = trie_.slice(outline.plain_run);
  MaskDraft mask(slice, trie_.words());
  walk(slice.others, state, mask, allowance);
  mask.add(outline.special);
  return std::move(mask).finish();
}

LazyAutomaton::Outline LazyAutomaton::outline_of(State state) {
  const std::scoped_lock lock(mutex_);
  Outline outline;
  for (const std::uint32_t index : cells_of(state)) {
    const Cell& top = cells_[index];
    outline.plain_run = std::max(outline.plain_run, plain_run(top));
    const Node& node = grammar_.nodes[top.node];
    if (node.kind != NodeKind::kSpecial) continue;
    const TokenId token = trie_.special(grammar_.text(node));
    const bool is_new = std::ranges::find(outline.special, token) == outline.special.end();
    if (token != kNoToken && is_new) outline.special.push_back(token);
  }
  return outline;
}

/// Returns how many code points of plain text, whatever they are, a stack allows for certain.
std::uint32_t LazyAutomaton::plain_run(const Cell& top) const {
  const Node& node = grammar_.nodes[top.node];
  if (node.kind != NodeKind::kDfa || top.a != 0 || !grammar_.dfas[node.first].covers_text) {
    return 0;
  }
  const Cell& below = cells_[top.next];
  const bool loops = top.next != 0 && grammar_.nodes[below.node].kind == NodeKind::kRepeat &&
                     loops_over(below.node, top.node);
  // Text after the repetition's end does not count.
  return !loops ? 1 : below.b == kNoBound ? kNoBound : below.b + 1;
}

/// Whether a repetition's child is `node`, or has it as an alternative.
bool LazyAutomaton::loops_over(std::uint32_t repeat, std::uint32_t node) const {
  const std::uint32_t child = grammar_.nodes[repeat].first;
  if (child == node) return true;
  const Node& choice = grammar_.nodes[child];
  if (choice.kind != NodeKind::kChoice) return false;
  const auto children = std::span(grammar_.children).subspan(choice.first, choice.count);
  return std::ranges::find(children, node) != children.end();
}

void LazyAutomaton::walk(const ByteTrie& trie, State state, MaskDraft& mask, Allowance& allowance) {
  struct Place {
    State state = kDead;
    const Table* table = nullptr;
  };
  std::vector<Place> path(1, Place{state, table_of(state)});  // states by depth
  const std::size_t end = trie.nodes.size() - 1;
  std::size_t visited = 0;
  for (std::size_t i = 0; i < end;) {
    const ByteTrie::Node& node = trie.nodes[i];
    ++visited;
    Place& from = path[node.depth];
    State to = known_step(from.table, node.byte);
    if (to == kUnknown) {
      to = make_step(from.state, node.byte, allowance);
      from.table = table_of(from.state);
    }
    if (to == kDead) {
      i = node.after;
      continue;
    }
    // Tokens that end at this node come before the tokens of the next node, which is a child or a
    // sibling.
    const std::uint32_t behind = trie.nodes[++i].token;
    if (behind != node.token) {
      mask.add(std::span(trie.tokens).subspan(node.token, behind - node.token));
    }
    if (node.after == i) continue;  // the node has no children
    const std::size_t depth = node.depth + std::size_t{1};
    if (path.size() <= depth) path.resize(depth + 1);
    path[depth] = {to, table_of(to)};
  }
  allowance.spend(visited / 8);
}

}  // namespace weft::grammar
