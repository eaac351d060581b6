#include "weft/grammar/check_grammar.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "weft/grammar/grammar_error.h"

namespace weft::grammar {
namespace {

std::span<const std::uint32_t> children_of(const GrammarData& data, const Node& node) {
  switch (node.kind) {
    case NodeKind::kSequence:
    case NodeKind::kChoice:
      return std::span(data.children).subspan(node.first, node.count);
    case NodeKind::kRepeat:
      return {&node.first, 1};
    case NodeKind::kRule:
      return {&data.rules[node.first], 1};
    case NodeKind::kLiteral:
    case NodeKind::kDfa:
    case NodeKind::kSpecial:
      break;
  }
  return {};
}

/// Finds all nodes with a property that follows from the property of their children. When a node is
/// found, its parents are checked again.
class Fixpoint {
 public:
  explicit Fixpoint(const GrammarData& data) : data_(data), parents_(data.nodes.size()) {
    for (std::uint32_t i = 0; i < data.nodes.size(); ++i) {
      for (const std::uint32_t child : children_of(data, data.nodes[i])) {
        parents_[child].push_back(i);
      }
    }
  }

  template <class Holds>
  std::vector<bool> find(const Holds& holds) const {
    std::vector<bool> found(data_.nodes.size());
    std::vector<std::uint32_t> missing(data_.nodes.size());
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < data_.nodes.size(); ++i) {
      const Node& node = data_.nodes[i];
      missing[i] = node.kind == NodeKind::kSequence ? node.count : 1;
      if (holds(node)) mark(i, found, open);
    }
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t parent : parents_[at]) {
        if (--missing[parent] == 0 || data_.nodes[parent].kind == NodeKind::kChoice) {
          mark(parent, found, open);
        }
      }
    }
    return found;
  }

 private:
  static void mark(std::uint32_t node, std::vector<bool>& found, std::vector<std::uint32_t>& open) {
    if (found[node]) return;
    found[node] = true;
    open.push_back(node);
  }

  const GrammarData& data_;
  std::vector<std::vector<std::uint32_t>> parents_;
};

bool is_always_productive(const GrammarData& data, const Node& node) {
  switch (node.kind) {
    case NodeKind::kLiteral:
    case NodeKind::kSpecial:
      return true;
    case NodeKind::kDfa: {
      const ByteDfa& dfa = data.dfas[node.first];
      return dfa.states[0].accepts || dfa.states[0].edges > 0;
    }
    case NodeKind::kSequence:
      return node.count == 0;
    case NodeKind::kRepeat:
      return node.least == 0;
    case NodeKind::kChoice:
    case NodeKind::kRule:
      break;
  }
  return false;
}

bool is_always_empty(const GrammarData& data, const Node& node) {
  switch (node.kind) {
    case NodeKind::kLiteral:
      return node.count == 0;
    case NodeKind::kDfa:
      return data.dfas[node.first].states[0].accepts;
    case NodeKind::kSequence:
      return node.count == 0;
    case NodeKind::kRepeat:
      return node.least == 0;
    case NodeKind::kSpecial:
    case NodeKind::kChoice:
    case NodeKind::kRule:
      break;
  }
  return false;
}

void prune(GrammarData& data, const std::vector<bool>& productive) {
  for (Node& node : data.nodes) {
    if (node.kind == NodeKind::kRepeat && !productive[node.first]) {
      node = {NodeKind::kSequence, 0, 0};
    } else if (node.kind == NodeKind::kChoice) {
      const auto children = std::span(data.children).subspan(node.first, node.count);
      const auto rest = std::ranges::stable_partition(
          children, [&](std::uint32_t child) { return productive[child]; });
      node.count -= static_cast<std::uint32_t>(rest.size());
    }
  }
}

/// Sets the least count of a repetition to 0 where its part may be empty, because empty texts can
/// fill any count.
void let_empty_repeat(GrammarData& data, const std::vector<bool>& nullable) {
  for (Node& node : data.nodes) {
    if (node.kind == NodeKind::kRepeat && nullable[node.first]) node.least = 0;
  }
}

/// Calls `each` for each child with which a node may begin.
template <class Each>
void for_each_first(const GrammarData& data, const Node& node, const std::vector<bool>& nullable,
                    const Each& each) {
  for (const std::uint32_t child : children_of(data, node)) {
    each(child);
    if (node.kind == NodeKind::kSequence && !nullable[child]) break;
  }
}

/// Whether a node reachable from the start begins with itself. A repetition begins with itself only
/// through a child that may be empty; the automaton handles that case.
bool begins_with_itself(const GrammarData& data, const std::vector<bool>& nullable) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> colour(data.nodes.size(), kNew);
  struct Visit {
    std::uint32_t node;
    std::vector<std::uint32_t> next;
  };
  for (std::uint32_t root = 0; root < data.nodes.size(); ++root) {
    if (colour[root] != kNew) continue;
    std::vector<Visit> stack;
    const auto enter = [&](std::uint32_t node) {
      colour[node] = kOpen;
      Visit visit{node, {}};
      for_each_first(data, data.nodes[node], nullable,
                     [&](std::uint32_t child) { visit.next.push_back(child); });
      stack.push_back(std::move(visit));
    };
    enter(root);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next.empty()) {
        colour[top.node] = kDone;
        stack.pop_back();
        continue;
      }
      const std::uint32_t child = top.next.back();
      top.next.pop_back();
      if (colour[child] == kOpen) return true;
      if (colour[child] == kNew) enter(child);
    }
  }
  return false;
}

}  // namespace

Result<void> check_and_prune(GrammarData& data) {
  for (const std::uint32_t rule : data.rules) {
    if (rule == kNoBound) return Error{GrammarErrc::kBadGrammar, "a rule is not defined"};
  }
  {
    const Fixpoint fixpoint(data);
    const auto productive =
        fixpoint.find([&](const Node& node) { return is_always_productive(data, node); });
    if (!productive[data.start]) {
      return Error{GrammarErrc::kBadGrammar, "no text is possible"};
    }
    const auto nullable =
        fixpoint.find([&](const Node& node) { return is_always_empty(data, node); });
    let_empty_repeat(data, nullable);
    prune(data, productive);
    if (begins_with_itself(data, nullable)) {
      return Error{GrammarErrc::kBadGrammar, "a rule begins with itself (left recursion)"};
    }
  }
  return {};
}

}  // namespace weft::grammar
