#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/byte_classes.h"
#include "weft/grammar/engine/count_boxes.h"
#include "weft/grammar/engine/grammar_memory.h"
#include "weft/grammar/engine/growing_list.h"
#include "weft/grammar/engine/intern_table.h"
#include "weft/grammar/engine/token_trie.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// Thrown when a state or a mask would cost more than its Allowance.
class TooMuchWork : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "grammar: too much work"; }
};

/// The work that one mask or one token may still cost.
struct Allowance {
  std::size_t work = defaults::kMaxWork;
  std::size_t states = defaults::kMaxNewStates;

  void spend(std::size_t amount) {
    if (amount > work) throw TooMuchWork();
    work -= amount;
  }
};

/// The tokens that may follow a state: a list when they are few, else bits.
struct TokenMask {
  std::vector<std::uint32_t> bits;
  std::vector<TokenId> tokens;
  std::uint32_t count = 0;
};

/// A grammar's pushdown automaton, made deterministic where it is walked.
///
/// The text that is still to match is a stack: a linked list of cells, each a node of the grammar
/// and how far the node has come. A state is the set of stacks that are possible after the bytes so
/// far; each has a node on top that takes a byte. Equal lists and sets are stored once, so a state
/// has a number, and its successors by byte and its mask are remembered. A stack holds all that
/// matters about the past, so repetitions may count and rules may nest without end, and only states
/// that are really met take memory. (Derivatives as in Antimirov, "Partial derivatives of regular
/// expressions", 1996, here of grammars; laziness as in RE2's DFA.) Stacks of a state that differ
/// only in their counts are merged where fewer stacks allow the same texts (merge_stacks.cc).
///
/// Thread-safe. Known successors and masks are read without a lock, because the thread that makes a
/// state passes on its number. A new successor is made under a lock, which takes some 0.3 us. A
/// mask is a walk over many successors. Several masks are made in parallel, but each only once: a
/// thread that needs a mask in the making waits for it. Grammar and trie must outlive the
/// automaton.
class LazyAutomaton {
 public:
  using State = std::uint32_t;
  static constexpr State kDead = 0;

  /// Begins at the grammar's start, or at another node. `memory` counts the automaton's bytes;
  /// null: they are not counted.
  LazyAutomaton(const GrammarData& grammar, const TokenTrie& trie,
                std::shared_ptr<GrammarMemory> memory = nullptr)
      : LazyAutomaton(grammar, trie, grammar.start, std::move(memory)) {}
  LazyAutomaton(const GrammarData& grammar, const TokenTrie& trie, std::uint32_t start_node,
                std::shared_ptr<GrammarMemory> memory = nullptr);
  LazyAutomaton(const LazyAutomaton&) = delete;
  LazyAutomaton& operator=(const LazyAutomaton&) = delete;
  ~LazyAutomaton();

  /// Each function may throw TooMuchWork; results found until then are kept, and are right.
  [[nodiscard]] State start(Allowance& allowance);
  [[nodiscard]] State step(State state, std::uint8_t byte, Allowance& allowance) {
    return step_from(table_of(state), state, byte, allowance);
  }
  /// Returns the state after all bytes of a token, or after a special token; kDead where the token
  /// is not allowed.
  [[nodiscard]] State step_token(State state, TokenId token, Allowance& allowance);
  /// The mask's address is valid for the automaton's life.
  [[nodiscard]] const TokenMask& mask(State state, Allowance& allowance);
  /// Returns this automaton's state for a state of another automaton of the same grammar.
  [[nodiscard]] State adopt(LazyAutomaton& other, State state, Allowance& allowance);

  /// The tokens of the text that must follow a state, as ForcedTokens::next() says. Their address
  /// is valid for the automaton's life. A search that cost too much work is not repeated.
  [[nodiscard]] const std::vector<TokenId>& forced(State state, Allowance& allowance);

  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;
  /// Returns step_token()'s result if it is remembered, else kUnknown. Never waits.
  [[nodiscard]] State known_step(State state, TokenId token) const;
  /// Whether mask() would only look up its result. Never waits.
  [[nodiscard]] bool has_mask(State state) const;

  [[nodiscard]] bool accepts(State state) const { return states_[state].accepts; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }

 private:
  /// A node and how far it has come. For kLiteral the bytes taken; for kDfa its state; for
  /// kSequence the children begun; for kRepeat the least and most counts from here on.
  struct Cell {
    std::uint32_t node = 0;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t next = 0;  ///< the cell below; 0: nothing is left

    friend bool operator==(const Cell&, const Cell&) = default;
  };
  /// The successors of a state, by class of bytes.
  class Table {
   public:
    explicit Table(std::size_t classes)
        : complements_(std::make_unique<std::atomic<State>[]>(classes)) {}
    /// Returns kUnknown where the successor was never requested.
    [[nodiscard]] State at(std::size_t byte_class) const {
      return ~complements_[byte_class].load(std::memory_order_acquire);
    }
    void set(std::size_t byte_class, State to) {
      complements_[byte_class].store(~to, std::memory_order_release);
    }

   private:
    // Raw memory, because a mask may make thousands of tables and zeroed memory is the fastest to
    // get.
    std::unique_ptr<std::atomic<State>[]> complements_;
  };
  /// The properties of a cell's stack by which mergeable stacks are found.
  struct Shape {
    std::uint64_t hash = 0;      ///< hash of the stack without its counts
    std::uint32_t counters = 0;  ///< number of cells whose counts can differ
  };
  struct StateData {
    std::uint32_t first = 0;  ///< cells [first, first + count) of pool_, ascending
    std::uint32_t count = 0;
    bool accepts = false;
    std::atomic<Table*> table{nullptr};           ///< set once a successor was requested
    std::atomic<const TokenMask*> mask{nullptr};  ///< being_made() while a thread makes it
    std::atomic<const std::vector<TokenId>*> forced{nullptr};  ///< set once it was requested
  };
  class Making;  // holds the lock, and spends an allowance
  class MaskDraft;
  /// The part of a mask that is read off the stacks.
  struct Outline {
    std::uint32_t plain_run = 0;  ///< this many code points of plain text are allowed for certain
    std::vector<TokenId> special{};
  };

  [[nodiscard]] const Table* table_of(State state) const {
    return states_[state].table.load(std::memory_order_acquire);
  }
  [[nodiscard]] State known_step(const Table* table, std::uint8_t byte) const {
    return table == nullptr ? kUnknown : table->at(classes_.of(byte));
  }
  [[nodiscard]] State step_from(const Table* table, State state, std::uint8_t byte,
                                Allowance& allowance) {
    const State to = known_step(table, byte);
    return to != kUnknown ? to : make_step(state, byte, allowance);
  }
  [[nodiscard]] State make_step(State state, std::uint8_t byte, Allowance& allowance);
  [[nodiscard]] State step_special(State state, TokenId token, Allowance& allowance);

  // Masks (token_masks.cc).
  [[nodiscard]] static const TokenMask* being_made();
  [[nodiscard]] TokenMask make_mask(State state, Allowance& allowance);
  [[nodiscard]] Outline outline_of(State state);
  [[nodiscard]] std::uint32_t plain_run(const Cell& top) const;
  [[nodiscard]] bool loops_over(std::uint32_t repeat, std::uint32_t node) const;
  void walk(const ByteTrie& trie, State state, MaskDraft& mask, Allowance& allowance);

  // Forced text (forced_text.cc).
  /// The only symbol that can follow a state, if there is just one.
  struct Only {
    std::int32_t byte = -1;
    TokenId special = kNoToken;
  };
  struct ForcedText;
  [[nodiscard]] Only only_next(State state);
  [[nodiscard]] ForcedText forced_text(State state, Allowance& allowance);
  [[nodiscard]] std::vector<TokenId> find_forced(State state, Allowance& allowance);
  [[nodiscard]] std::size_t settled(std::span<const TokenId> tokens, const ForcedText& text,
                                    Allowance& allowance);
  [[nodiscard]] bool goes_beyond(std::string_view rest, State end, Allowance& allowance);

  void add_bytes(std::size_t count) noexcept {
    bytes_.fetch_add(count, std::memory_order_relaxed);
    if (memory_ != nullptr) memory_->add(count);
  }

  // Called under the lock, by Making.
  std::uint32_t cell(const Cell& wanted);
  std::uint32_t begin(std::uint32_t node, std::uint32_t next);
  void begin_state();
  void open(std::uint32_t stack);
  void expand(std::uint32_t index);
  void take(std::uint32_t stack);
  State finish_state();

  // Merging (merge_stacks.cc), called under the lock.
  [[nodiscard]] Shape shape_of(const Cell& one) const;
  [[nodiscard]] bool is_counter(const Cell& one) const;
  void merge_found();
  void merge_shape(std::span<const std::uint32_t> stacks);
  [[nodiscard]] bool add_box(std::uint32_t stack, std::uint32_t like);
  [[nodiscard]] std::uint32_t with_counts(std::uint32_t stack, std::span<const CountRange> counts);
  [[nodiscard]] std::uint32_t after_byte(std::uint32_t index, std::uint8_t byte);
  [[nodiscard]] std::span<const std::uint32_t> cells_of(State state) const {
    return std::span(pool_).subspan(states_[state].first, states_[state].count);
  }
  /// Returns the stacks of a state, each from its end to its top.
  [[nodiscard]] std::vector<std::vector<Cell>> stacks_of(State state, Allowance& allowance);

  const GrammarData& grammar_;
  const TokenTrie& trie_;
  const std::uint32_t start_node_;
  const ByteClasses classes_;
  const std::shared_ptr<GrammarMemory> memory_;
  GrowingList<StateData> states_;  ///< appended to under the lock
  std::atomic<std::size_t> bytes_{0};

  std::mutex mutex_;           // all below is guarded by it
  std::vector<Cell> cells_;    ///< by index; 0 stands for the empty stack
  std::vector<Shape> shapes_;  ///< shapes by cell
  InternTable known_cells_;
  std::vector<std::uint32_t> pool_;
  InternTable known_states_;
  std::deque<Table> tables_;
  std::deque<TokenMask> masks_;
  std::deque<std::vector<TokenId>> forced_;
  State start_ = kUnknown;

  // The state that is being made.
  Allowance* allowance_ = nullptr;
  std::size_t made_bytes_ = 0;        ///< not counted in bytes_ yet
  std::vector<std::uint32_t> marks_;  ///< by cell: the state that already contains it
  std::uint32_t mark_ = 0;
  std::vector<std::uint32_t> todo_;
  std::vector<std::uint32_t> found_;
  bool found_end_ = false;
  CountBoxes boxes_;                   ///< counts of the stacks that are merged
  std::vector<std::uint32_t> merged_;  ///< the merged stacks
};

}  // namespace weft::grammar
