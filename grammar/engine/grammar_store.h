#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/engine/grammar_memory.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// The compiled grammars of a model: grammars in use, and the most recently used idle ones. The
/// store makes room when all of them exceed the limit. Thread-safe.
class GrammarStore : public std::enable_shared_from_this<GrammarStore> {
 public:
  /// A grammar, and the places of its schemas that it does not enforce; null: it enforces all.
  struct Stored {
    std::shared_ptr<const CompiledGrammar> grammar;
    std::shared_ptr<const std::vector<std::string>> not_enforced;
  };
  /// A stored grammar, lent to one request.
  struct Lent {
    std::shared_ptr<const TokenConstraint> constraint;
    std::shared_ptr<const std::vector<std::string>> not_enforced;
  };

  explicit GrammarStore(std::shared_ptr<GrammarMemory> memory);

  [[nodiscard]] const std::shared_ptr<GrammarMemory>& memory() const noexcept { return memory_; }
  /// Lends the grammar with this key, if there is one.
  [[nodiscard]] std::optional<Lent> find(const std::string& key);
  /// Lends a new grammar, and stores it under its key. With an empty key it is stored only while it
  /// is used.
  [[nodiscard]] Lent add(std::string key, Stored stored);
  /// Ends a loan (GrammarUse).
  void end_use(const CompiledGrammar& grammar) noexcept;

  /// When the grammars exceed the limit, drops idle grammars and then the states of grammars in
  /// use, until they hold three quarters of the limit. The least recently requested goes first. A
  /// sequence frees the states that it still uses at its next step. Returns whether the grammars
  /// now hold no more than the limit.
  bool make_room() noexcept;

 private:
  struct Entry {
    std::string key;
    Stored stored;
    std::size_t uses = 0;
  };
  using Entries = std::list<Entry>;

  [[nodiscard]] Lent lend(Entry& entry);
  void drop(Entries::iterator entry, Entries& gone) noexcept;
  void drop_idle(Entries& gone) noexcept;

  const std::shared_ptr<GrammarMemory> memory_;
  std::mutex mutex_;
  Entries entries_;  ///< guarded, like all members below; the most recently requested comes first
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
};

}  // namespace weft::grammar
