#include "weft/grammar/engine/byte_classes.h"

#include <bitset>
#include <span>
#include <vector>

namespace weft::grammar {
namespace {

/// The bytes at which a class begins, as bits.
using Cuts = std::bitset<257>;

void cut_at(const GrammarData& grammar, const Node& node, Cuts& cuts) {
  if (node.kind == NodeKind::kLiteral) {
    for (const char c : grammar.text(node)) {
      const auto byte = static_cast<std::uint8_t>(c);
      cuts.set(byte);
      cuts.set(byte + std::size_t{1});
    }
  } else if (node.kind == NodeKind::kDfa) {
    for (const ByteDfa::Edge& edge : grammar.dfas[node.first].edges) {
      cuts.set(edge.low);
      cuts.set(edge.high + std::size_t{1});
    }
  }
}

}  // namespace

ByteClasses::ByteClasses(const GrammarData& grammar, std::uint32_t start_node) {
  Cuts cuts;
  std::vector<bool> seen(grammar.nodes.size());
  std::vector<std::uint32_t> open;
  const auto visit = [&](std::uint32_t index) {
    if (seen[index]) return;
    seen[index] = true;
    open.push_back(index);
  };
  visit(start_node);
  while (!open.empty()) {
    const Node& node = grammar.nodes[open.back()];
    open.pop_back();
    cut_at(grammar, node, cuts);
    if (node.kind == NodeKind::kRepeat) visit(node.first);
    if (node.kind == NodeKind::kRule) visit(grammar.rules[node.first]);
    if (node.kind != NodeKind::kSequence && node.kind != NodeKind::kChoice) continue;
    for (const std::uint32_t child : std::span(grammar.children).subspan(node.first, node.count)) {
      visit(child);
    }
  }
  for (std::size_t byte = 1; byte < of_.size(); ++byte) {
    of_[byte] = static_cast<std::uint8_t>(of_[byte - 1] + (cuts.test(byte) ? 1 : 0));
  }
}

}  // namespace weft::grammar
