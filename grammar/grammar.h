#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/grammar/byte_dfa.h"

namespace weft {

namespace grammar {

enum class NodeKind : std::uint8_t {
  kLiteral,   ///< the bytes [first, first + count)
  kDfa,       ///< the automaton `first`
  kSequence,  ///< the children [first, first + count), in order
  kChoice,    ///< one of the children [first, first + count)
  kRepeat,    ///< the child `first`, least .. most times
  kRule,      ///< the rule `first`
  kSpecial,   ///< the special token whose text is the bytes [first, first + count)
};

inline constexpr std::uint32_t kNoBound = std::numeric_limits<std::uint32_t>::max();

/// A part of a grammar. GrammarBuilder bounds all sums over these indices.
struct Node {
  NodeKind kind = NodeKind::kSequence;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t least = 0;
  std::uint32_t most = 0;  ///< kNoBound: any number
};

/// A context-free grammar over bytes, as a graph of nodes. No rule begins with itself, and each
/// node stands for at least one text.
struct GrammarData {
  std::string bytes;
  std::vector<std::uint32_t> children;
  std::vector<Node> nodes;
  std::vector<ByteDfa> dfas;
  std::vector<std::uint32_t> rules;  ///< the node of each rule
  std::uint32_t start = 0;           ///< the node where texts begin

  [[nodiscard]] std::string_view text(const Node& node) const {
    return std::string_view(bytes).substr(node.first, node.count);
  }
};

}  // namespace grammar

/// The required form of an output, put together by a GrammarBuilder. Immutable.
class Grammar {
 public:
  explicit Grammar(grammar::GrammarData data, std::vector<std::string> not_enforced = {})
      : data_(std::move(data)), not_enforced_(std::move(not_enforced)) {}
  [[nodiscard]] const grammar::GrammarData& data() const noexcept { return data_; }
  /// Returns the places in lenient schemas (Strictness) that texts of this grammar may break. Each
  /// is listed once, in the order in which the schemas were read; "..." stands for places beyond
  /// the limit.
  [[nodiscard]] const std::vector<std::string>& not_enforced() const noexcept {
    return not_enforced_;
  }

 private:
  grammar::GrammarData data_;
  std::vector<std::string> not_enforced_;
};

}  // namespace weft
