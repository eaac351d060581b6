#include "weft/grammar/engine/lazy_automaton.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "weft/grammar/defaults.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {
namespace {

constexpr std::uint32_t kNoEdge = 0xFFFFFFFF;

std::uint32_t dfa_step(const ByteDfa& dfa, std::uint32_t state, std::uint8_t byte) {
  for (const ByteDfa::Edge& edge : dfa.edges_of(state)) {
    if (byte < edge.low) break;
    if (byte <= edge.high) return edge.to;
  }
  return kNoEdge;
}

}  // namespace

LazyAutomaton::LazyAutomaton(const GrammarData& grammar, const TokenTrie& trie,
                             std::uint32_t start_node)
    : grammar_(grammar), trie_(trie), start_node_(start_node), cells_(1), marks_(1) {
  allow_work();
  static_cast<void>(finish_state());  // kDead
}

void LazyAutomaton::allow_work() noexcept {
  work_left_ = defaults::kMaxWork;
  states_left_ = defaults::kMaxNewStates;
}

void LazyAutomaton::work(std::size_t amount) {
  if (amount > work_left_) throw TooMuchWork();
  work_left_ -= amount;
}

std::uint32_t LazyAutomaton::cell(const Cell& wanted) {
  const auto hash_of = [](const Cell& one) {
    return mixed(mixed((std::uint64_t{one.node} << 32U) | one.next, one.a), one.b);
  };
  return known_cells_.find_or_add(
      hash_of(wanted), [&](std::uint32_t index) { return cells_[index] == wanted; },
      [&] {
        marks_.resize(cells_.size() +
                      1);  // first, so that no cell lacks its mark where memory ends
        cells_.push_back(wanted);
        bytes_ += sizeof(Cell) + 2 * sizeof(std::uint32_t);
        return static_cast<std::uint32_t>(cells_.size() - 1);
      },
      [&](std::uint32_t index) { return hash_of(cells_[index]); });
}

/// The stack `next` with a node on top that has not begun.
std::uint32_t LazyAutomaton::begin(std::uint32_t node, std::uint32_t next) {
  const Node& what = grammar_.nodes[node];
  const bool counts = what.kind == NodeKind::kRepeat;
  return cell({node, counts ? what.least : 0, counts ? what.most : 0, next});
}

LazyAutomaton::State LazyAutomaton::start() {
  if (start_ == kUnknown) {
    begin_state();
    open(begin(start_node_, 0));
    start_ = finish_state();
  }
  return start_;
}

void LazyAutomaton::begin_state() {
  found_.clear();
  todo_.clear();
  found_end_ = false;
  ++mark_;
}

/// Adds to the state that is made what a stack may go on with.
void LazyAutomaton::open(std::uint32_t stack) {
  take(stack);
  while (!todo_.empty()) {
    const std::uint32_t top = todo_.back();
    todo_.pop_back();
    expand(top);
  }
}

void LazyAutomaton::take(std::uint32_t stack) {
  if (stack == 0) {
    found_end_ = true;
  } else if (marks_[stack] != mark_) {
    marks_[stack] = mark_;
    todo_.push_back(stack);
  }
}

void LazyAutomaton::expand(std::uint32_t index) {
  work(1);
  const Cell top = cells_[index];
  const Node& node = grammar_.nodes[top.node];
  switch (node.kind) {
    case NodeKind::kLiteral:
    case NodeKind::kSpecial:
      found_.push_back(index);
      break;
    case NodeKind::kDfa: {
      const ByteDfa::State& state = grammar_.dfas[node.first].states[top.a];
      if (state.accepts) take(top.next);
      if (state.edges > 0) found_.push_back(index);
      break;
    }
    case NodeKind::kSequence: {
      if (node.count == 0) return take(top.next);
      // The last child needs nobody to come back to: a list that recurs at its end stays flat.
      const std::uint32_t rest =
          top.a + 1 < node.count ? cell({top.node, top.a + 1, 0, top.next}) : top.next;
      take(begin(grammar_.children[node.first + top.a], rest));
      break;
    }
    case NodeKind::kChoice:
      work(node.count);
      for (std::uint32_t i = 0; i < node.count; ++i) {
        take(begin(grammar_.children[node.first + i], top.next));
      }
      break;
    case NodeKind::kRepeat: {
      if (top.a == 0) take(top.next);
      const std::uint32_t least = top.a == 0 ? 0 : top.a - 1;
      const std::uint32_t most = top.b == kNoBound ? kNoBound : top.b - 1;
      const std::uint32_t rest = most == 0 ? top.next : cell({top.node, least, most, top.next});
      take(begin(node.first, rest));
      break;
    }
    case NodeKind::kRule:
      take(begin(grammar_.rules[node.first], top.next));
      break;
  }
  if (found_.size() > defaults::kMaxOpen) throw TooMuchWork();
}

/// The number of the state of what was found.
LazyAutomaton::State LazyAutomaton::finish_state() {
  std::ranges::sort(found_);
  const auto hash_cells = [](std::span<const std::uint32_t> cells, bool accepts) {
    std::uint64_t hash = accepts ? 1 : 0;
    for (const std::uint32_t one : cells) hash = mixed(hash, one);
    return hash;
  };
  const bool accepts = std::exchange(found_end_, false);
  const State state = known_states_.find_or_add(
      hash_cells(found_, accepts),
      [&](State one) {
        return states_[one].accepts == accepts && std::ranges::equal(cells_of(one), found_);
      },
      [&] {
        if (states_left_-- == 0) {
          states_left_ = 0;
          found_.clear();
          throw TooMuchWork();
        }
        const auto made = static_cast<State>(states_.size());
        const auto first = static_cast<std::uint32_t>(pool_.size());
        // The state last, so that it lacks nothing where memory ends.
        tables_.resize(states_.size() + 1, nullptr);
        pool_.insert(pool_.end(), found_.begin(), found_.end());
        states_.push_back({first, static_cast<std::uint32_t>(found_.size()), accepts});
        bytes_ += sizeof(StateData) + sizeof(void*) + found_.size() * sizeof(std::uint32_t);
        return made;
      },
      [&](State one) { return hash_cells(cells_of(one), states_[one].accepts); });
  found_.clear();
  return state;
}

/// The stack after a byte; kUnknown where its top does not take it.
std::uint32_t LazyAutomaton::after_byte(std::uint32_t index, std::uint8_t byte) {
  const Cell top = cells_[index];
  const Node& node = grammar_.nodes[top.node];
  if (node.kind == NodeKind::kLiteral) {
    if (static_cast<std::uint8_t>(grammar_.bytes[node.first + top.a]) != byte) return kUnknown;
    return top.a + 1 == node.count ? top.next : cell({top.node, top.a + 1, 0, top.next});
  }
  if (node.kind == NodeKind::kSpecial) return kUnknown;
  const ByteDfa& dfa = grammar_.dfas[node.first];
  const std::uint32_t to = dfa_step(dfa, top.a, byte);
  if (to == kNoEdge) return kUnknown;
  return dfa.states[to].edges == 0 ? top.next : cell({top.node, to, 0, top.next});
}

LazyAutomaton::State LazyAutomaton::make_step(State state, std::uint8_t byte) {
  if (state == kDead) return kDead;
  const std::size_t count = states_[state].count;
  work(count);
  begin_state();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t stack = after_byte(pool_[states_[state].first + i], byte);
    if (stack != kUnknown) open(stack);
  }
  const State to = finish_state();
  if (tables_[state] == nullptr) {
    table_memory_.emplace_back().fill(kUnknown);
    tables_[state] = table_memory_.back().data();
    bytes_ += sizeof(table_memory_.back());
  }
  tables_[state][byte] = to;
  return to;
}

LazyAutomaton::State LazyAutomaton::step_token(State state, TokenId token) {
  if (!trie_.has(token)) return kDead;
  const std::string_view bytes = trie_.bytes(token);
  if (!bytes.empty()) {
    for (const char byte : bytes) state = step(state, static_cast<std::uint8_t>(byte));
    return state;
  }
  begin_state();
  for (std::size_t i = 0; i < states_[state].count; ++i) {
    const Cell top = cells_[pool_[states_[state].first + i]];
    const Node& node = grammar_.nodes[top.node];
    if (node.kind != NodeKind::kSpecial || trie_.special(grammar_.text(node)) != token) continue;
    open(top.next);
  }
  return finish_state();
}

LazyAutomaton::State LazyAutomaton::adopt(const LazyAutomaton& other, State state) {
  std::vector<std::uint32_t> ours;
  std::vector<std::uint32_t> below;
  for (const std::uint32_t stack : other.cells_of(state)) {
    below.clear();
    for (std::uint32_t at = stack; at != 0; at = other.cells_[at].next) below.push_back(at);
    work(below.size());
    std::uint32_t made = 0;
    for (std::size_t i = below.size(); i > 0; --i) {
      Cell copy = other.cells_[below[i - 1]];
      copy.next = made;
      made = cell(copy);
    }
    ours.push_back(made);
  }
  begin_state();
  found_ = std::move(ours);
  found_end_ = other.states_[state].accepts;
  return finish_state();
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

/// How many code points of plain text are allowed for sure, whatever they are.
std::uint32_t LazyAutomaton::plain_run(State state) const {
  std::uint32_t longest = 0;
  for (const std::uint32_t index : cells_of(state)) {
    const Cell& top = cells_[index];
    const Node& node = grammar_.nodes[top.node];
    if (node.kind != NodeKind::kDfa || top.a != 0 || !grammar_.dfas[node.first].covers_text) {
      continue;
    }
    const Cell& below = cells_[top.next];
    const bool loops = top.next != 0 && grammar_.nodes[below.node].kind == NodeKind::kRepeat &&
                       loops_over(below.node, top.node);
    // What comes after the repetition's end does not count.
    const std::uint32_t run = !loops ? 1 : below.b == kNoBound ? kNoBound : below.b + 1;
    longest = std::max(longest, run);
  }
  return longest;
}

void LazyAutomaton::walk(const ByteTrie& trie, State state, std::vector<std::uint32_t>& bits) {
  path_.assign(1, state);
  const std::size_t end = trie.nodes.size() - 1;
  std::size_t visited = 0;
  for (std::size_t i = 0; i < end;) {
    const ByteTrie::Node& node = trie.nodes[i];
    ++visited;
    const State to = step(path_[node.depth], node.byte);
    if (to == kDead) {
      i = node.after;
      continue;
    }
    if (path_.size() <= node.depth + std::size_t{1}) path_.resize(node.depth + std::size_t{2});
    path_[node.depth + std::size_t{1}] = to;
    // Tokens that end here come before those of the next node, which is below or beside.
    const bool ends_here = node.token != trie.nodes[i + 1].token;
    if (ends_here) {
      for (std::uint32_t t = node.token; t < trie.nodes[i + 1].token; ++t) {
        const auto id = static_cast<std::uint32_t>(trie.tokens[t]);
        bits[id / 32] |= std::uint32_t{1} << (id % 32);
      }
    }
    ++i;
  }
  work(visited / 8);
}

void LazyAutomaton::add_special(State state, std::vector<std::uint32_t>& bits) const {
  for (const std::uint32_t index : cells_of(state)) {
    const Node& node = grammar_.nodes[cells_[index].node];
    if (node.kind != NodeKind::kSpecial) continue;
    const TokenId token = trie_.special(grammar_.text(node));
    if (token == kNoToken) continue;
    const auto id = static_cast<std::uint32_t>(token);
    bits[id / 32] |= std::uint32_t{1} << (id % 32);
  }
}

const TokenMask& LazyAutomaton::mask(State state) {
  if (states_[state].mask) return *states_[state].mask;
  auto mask = std::make_unique<TokenMask>();
  const TokenTrie::Slice& slice = trie_.slice(plain_run(state));
  mask->bits = slice.bits;
  mask->bits.resize(trie_.words());
  walk(slice.others, state, mask->bits);
  add_special(state, mask->bits);
  for (const std::uint32_t word : mask->bits) {
    mask->count += static_cast<std::uint32_t>(std::popcount(word));
  }
  if (mask->count <= kMaxListedTokens) {
    mask->tokens.reserve(mask->count);
    for (std::size_t i = 0; i < mask->bits.size(); ++i) {
      for (std::uint32_t word = mask->bits[i]; word != 0; word &= word - 1) {
        mask->tokens.push_back(
            static_cast<TokenId>(i * 32 + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
    mask->bits = {};
  }
  bytes_ += sizeof(TokenMask) + 4 * (mask->bits.size() + mask->tokens.size());
  states_[state].mask = std::move(mask);
  return *states_[state].mask;
}

}  // namespace weft::grammar
