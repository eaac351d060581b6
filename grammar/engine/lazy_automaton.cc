#include "weft/grammar/engine/lazy_automaton.h"

#include <algorithm>
#include <utility>

#include "weft/grammar/defaults.h"

namespace weft::grammar {
namespace {

constexpr std::uint32_t kNoEdge = 0xFFFFFFFF;

/// A growing vector may have twice the memory that it uses.
constexpr std::size_t kVectorSlack = 2;
/// The allocator's own bytes in each block.
constexpr std::size_t kBlockBytes = 16;

std::uint32_t dfa_step(const ByteDfa& dfa, std::uint32_t state, std::uint8_t byte) {
  for (const ByteDfa::Edge& edge : dfa.edges_of(state)) {
    if (byte < edge.low) break;
    if (byte <= edge.high) return edge.to;
  }
  return kNoEdge;
}

}  // namespace

/// Holds the lock and may make states; `allowance` pays for them.
class LazyAutomaton::Making {
 public:
  Making(LazyAutomaton& automaton, Allowance& allowance)
      : automaton_(automaton), lock_(automaton.mutex_) {
    automaton_.allowance_ = &allowance;
  }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  ~Making() {
    automaton_.allowance_ = nullptr;
    if (automaton_.made_bytes_ > 0) automaton_.add_bytes(std::exchange(automaton_.made_bytes_, 0));
  }

 private:
  LazyAutomaton& automaton_;
  const std::scoped_lock<std::mutex> lock_;
};

LazyAutomaton::LazyAutomaton(const GrammarData& grammar, const TokenTrie& trie,
                             std::uint32_t start_node, std::shared_ptr<GrammarMemory> memory)
    : grammar_(grammar),
      trie_(trie),
      start_node_(start_node),
      classes_(grammar, start_node),
      memory_(std::move(memory)),
      cells_(1),
      shapes_(1),
      marks_(1) {
  Allowance allowance;
  const Making making(*this, allowance);
  made_bytes_ += sizeof(*this);
  static_cast<void>(finish_state());  // makes the state kDead
}

LazyAutomaton::~LazyAutomaton() {
  if (memory_ != nullptr) memory_->remove(bytes());
}

std::uint32_t LazyAutomaton::cell(const Cell& wanted) {
  const auto hash_of = [](const Cell& one) {
    return mixed(mixed((std::uint64_t{one.node} << 32U) | one.next, one.a), one.b);
  };
  return known_cells_.find_or_add(
      hash_of(wanted), [&](std::uint32_t index) { return cells_[index] == wanted; },
      [&] {
        // Done first, so that each cell has its mark and its shape even when memory runs out.
        marks_.resize(cells_.size() + 1);
        shapes_.resize(cells_.size() + 1);
        shapes_.back() = shape_of(wanted);
        cells_.push_back(wanted);
        made_bytes_ += kVectorSlack * (sizeof(Cell) + sizeof(Shape) + 3 * sizeof(std::uint32_t));
        return static_cast<std::uint32_t>(cells_.size() - 1);
      },
      [&](std::uint32_t index) { return hash_of(cells_[index]); });
}

/// Pushes an unbegun node onto the stack `next`; returns the new stack.
std::uint32_t LazyAutomaton::begin(std::uint32_t node, std::uint32_t next) {
  const Node& what = grammar_.nodes[node];
  const bool counts = what.kind == NodeKind::kRepeat;
  return cell({node, counts ? what.least : 0, counts ? what.most : 0, next});
}

LazyAutomaton::State LazyAutomaton::start(Allowance& allowance) {
  const Making making(*this, allowance);
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

/// Adds to the current state everything with which a stack may continue.
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
  allowance_->spend(1);
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
      // No cell is needed to return from the last child, so a list that recurs at its end stays
      // flat.
      const std::uint32_t rest =
          top.a + 1 < node.count ? cell({top.node, top.a + 1, 0, top.next}) : top.next;
      take(begin(grammar_.children[node.first + top.a], rest));
      break;
    }
    case NodeKind::kChoice:
      allowance_->spend(node.count);
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
      // This stack allows everything that `rest` allows, so `rest` is not added.
      if (top.a == 0 && most != 0) marks_[rest] = mark_;
      break;
    }
    case NodeKind::kRule:
      take(begin(grammar_.rules[node.first], top.next));
      break;
  }
  if (found_.size() > defaults::kMaxFound) throw TooMuchWork();
}

/// Returns the number of the state for the found stacks.
LazyAutomaton::State LazyAutomaton::finish_state() {
  merge_found();
  if (found_.size() > defaults::kMaxOpen) throw TooMuchWork();
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
        if (allowance_->states == 0 || states_.size() == states_.kMostElements) {
          found_.clear();
          throw TooMuchWork();
        }
        const auto first = static_cast<std::uint32_t>(pool_.size());
        pool_.insert(pool_.end(), found_.begin(), found_.end());
        // The state is added last, so that it is complete even if memory runs out.
        const auto made = static_cast<State>(states_.size());
        StateData& data = states_.grow();
        data.first = first;
        data.count = static_cast<std::uint32_t>(found_.size());
        data.accepts = accepts;
        --allowance_->states;
        made_bytes_ += sizeof(StateData) + 4 * sizeof(std::uint32_t) +
                       kVectorSlack * found_.size() * sizeof(std::uint32_t);
        return made;
      },
      [&](State one) { return hash_cells(cells_of(one), states_[one].accepts); });
  found_.clear();
  return state;
}

/// Returns the stack after a byte; kUnknown where its top does not accept the byte.
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

LazyAutomaton::State LazyAutomaton::make_step(State state, std::uint8_t byte,
                                              Allowance& allowance) {
  if (state == kDead) return kDead;
  const Making making(*this, allowance);
  StateData& from = states_[state];
  Table* table = from.table.load(std::memory_order_relaxed);
  // Another thread may have made the successor meanwhile.
  if (const State known = known_step(table, byte); known != kUnknown) return known;
  allowance.spend(from.count);
  begin_state();
  for (std::size_t i = 0; i < from.count; ++i) {
    const std::uint32_t stack = after_byte(pool_[from.first + i], byte);
    if (stack != kUnknown) open(stack);
  }
  const State to = finish_state();
  if (table == nullptr) {
    table = &tables_.emplace_back(classes_.count());
    made_bytes_ += sizeof(Table) + kBlockBytes + classes_.count() * sizeof(State);
    from.table.store(table, std::memory_order_release);
  }
  table->set(classes_.of(byte), to);
  return to;
}

LazyAutomaton::State LazyAutomaton::step_token(State state, TokenId token, Allowance& allowance) {
  if (!trie_.has(token)) return kDead;
  const std::string_view bytes = trie_.bytes(token);
  if (bytes.empty()) return step_special(state, token, allowance);
  for (const char byte : bytes) state = step(state, static_cast<std::uint8_t>(byte), allowance);
  return state;
}

LazyAutomaton::State LazyAutomaton::step_special(State state, TokenId token, Allowance& allowance) {
  const Making making(*this, allowance);
  begin_state();
  for (std::size_t i = 0; i < states_[state].count; ++i) {
    const Cell top = cells_[pool_[states_[state].first + i]];
    const Node& node = grammar_.nodes[top.node];
    if (node.kind != NodeKind::kSpecial || trie_.special(grammar_.text(node)) != token) continue;
    open(top.next);
  }
  return finish_state();
}

LazyAutomaton::State LazyAutomaton::known_step(State state, TokenId token) const {
  if (!trie_.has(token)) return kDead;
  const std::string_view bytes = trie_.bytes(token);
  if (bytes.empty()) return kUnknown;
  for (const char byte : bytes) {
    if (state == kDead) return kDead;
    state = known_step(table_of(state), static_cast<std::uint8_t>(byte));
    if (state == kUnknown) return kUnknown;
  }
  return state;
}

std::vector<std::vector<LazyAutomaton::Cell>> LazyAutomaton::stacks_of(State state,
                                                                       Allowance& allowance) {
  const Making making(*this, allowance);
  std::vector<std::vector<Cell>> stacks;
  for (const std::uint32_t stack : cells_of(state)) {
    std::vector<Cell>& cells = stacks.emplace_back();
    for (std::uint32_t at = stack; at != 0; at = cells_[at].next) cells.push_back(cells_[at]);
    allowance.spend(cells.size());
    std::ranges::reverse(cells);
  }
  return stacks;
}

LazyAutomaton::State LazyAutomaton::adopt(LazyAutomaton& other, State state, Allowance& allowance) {
  // Locks one automaton after the other, because two automata may adopt from each other.
  const std::vector<std::vector<Cell>> stacks = other.stacks_of(state, allowance);
  const Making making(*this, allowance);
  std::vector<std::uint32_t> ours;
  for (const std::vector<Cell>& stack : stacks) {
    std::uint32_t made = 0;
    for (Cell copy : stack) {
      copy.next = made;
      made = cell(copy);
    }
    ours.push_back(made);
  }
  begin_state();
  found_ = std::move(ours);
  found_end_ = other.accepts(state);
  return finish_state();
}

}  // namespace weft::grammar
