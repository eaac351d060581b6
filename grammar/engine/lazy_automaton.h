#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/grammar/engine/intern_table.h"
#include "weft/grammar/engine/token_trie.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// A state or a mask would cost more than defaults::kMaxWork, kMaxOpen or kMaxNewStates allow.
class TooMuchWork : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "grammar: too much work"; }
};

/// The tokens that may follow a state: a list of a few, else bits.
struct TokenMask {
  std::vector<std::uint32_t> bits;
  std::vector<TokenId> tokens;
  std::uint32_t count = 0;
};

/// A grammar's pushdown automaton, made deterministic where it is walked.
///
/// What is left to match is a stack: a linked list of cells, each a node of the grammar and how far
/// that has come. A state is the set of stacks that are possible after the bytes so far, each with
/// a node on top that takes a byte. Lists and sets are kept once each, so a state has a number, its
/// successors by byte are remembered, and so is its mask. Stacks say all there is to know, so
/// repetitions may count and rules may nest without end, and only what is really met takes memory.
/// (Derivatives as in Antimirov, "Partial derivatives of regular expressions", 1996, of grammars
/// instead; laziness as in RE2's DFA.)
///
/// Owner only. Grammar and trie outlive it.
class LazyAutomaton {
 public:
  using State = std::uint32_t;
  static constexpr State kDead = 0;

  /// Begins at the grammar's start, or at another node.
  LazyAutomaton(const GrammarData& grammar, const TokenTrie& trie)
      : LazyAutomaton(grammar, trie, grammar.start) {}
  LazyAutomaton(const GrammarData& grammar, const TokenTrie& trie, std::uint32_t start_node);

  /// Each of these may throw TooMuchWork; what is known by then is kept and right.
  [[nodiscard]] State start();
  [[nodiscard]] State step(State state, std::uint8_t byte) {
    const std::uint32_t* const next = tables_[state];
    if (next != nullptr && next[byte] != kUnknown) return next[byte];
    return make_step(state, byte);
  }
  /// After all bytes of a token, or the special token that it is; kDead where it is not allowed.
  [[nodiscard]] State step_token(State state, TokenId token);
  /// Stays where it is for the automaton's life.
  [[nodiscard]] const TokenMask& mask(State state);
  /// The state of another automaton of the same grammar.
  [[nodiscard]] State adopt(const LazyAutomaton& other, State state);

  [[nodiscard]] bool accepts(State state) const { return states_[state].accepts; }
  [[nodiscard]] std::size_t states() const noexcept { return states_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Begins a new allowance of work.
  void allow_work() noexcept;

 private:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

  /// A node and how far it has come: kLiteral bytes taken; kDfa its state; kSequence children
  /// begun; kRepeat how often at least and at most from here on.
  struct Cell {
    std::uint32_t node = 0;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t next = 0;  ///< the cell below; 0: nothing is left

    friend bool operator==(const Cell&, const Cell&) = default;
  };
  struct StateData {
    std::uint32_t first = 0;  ///< cells [first, first + count) of pool_, ascending
    std::uint32_t count = 0;
    bool accepts = false;
    std::unique_ptr<TokenMask> mask{};
  };

  std::uint32_t cell(const Cell& wanted);
  std::uint32_t begin(std::uint32_t node, std::uint32_t next);
  State make_step(State state, std::uint8_t byte);
  void begin_state();
  void open(std::uint32_t stack);
  void expand(std::uint32_t index);
  void take(std::uint32_t stack);
  State finish_state();
  [[nodiscard]] std::uint32_t after_byte(std::uint32_t index, std::uint8_t byte);
  [[nodiscard]] std::uint32_t plain_run(State state) const;
  [[nodiscard]] bool loops_over(std::uint32_t repeat, std::uint32_t node) const;
  void walk(const ByteTrie& trie, State state, std::vector<std::uint32_t>& bits);
  void add_special(State state, std::vector<std::uint32_t>& bits) const;
  void work(std::size_t amount);
  [[nodiscard]] std::span<const std::uint32_t> cells_of(State state) const {
    return std::span(pool_).subspan(states_[state].first, states_[state].count);
  }

  const GrammarData& grammar_;
  const TokenTrie& trie_;
  const std::uint32_t start_node_;
  std::vector<Cell> cells_;  ///< by index; 0 stands for the empty stack
  InternTable known_cells_;
  std::vector<std::uint32_t> pool_;
  std::vector<StateData> states_;
  InternTable known_states_;
  std::vector<std::uint32_t*> tables_;  ///< by state: successors by byte, once one was asked for
  std::deque<std::array<std::uint32_t, 256>> table_memory_;
  std::size_t bytes_ = 0;
  std::size_t work_left_ = 0;
  std::size_t states_left_ = 0;
  State start_ = kUnknown;

  // A state while it is made.
  std::vector<std::uint32_t> marks_;  ///< by cell: the state that has it already
  std::uint32_t mark_ = 0;
  std::vector<std::uint32_t> todo_;
  std::vector<std::uint32_t> found_;
  bool found_end_ = false;
  std::vector<State> path_;  ///< of a walk, by depth
};

}  // namespace weft::grammar
