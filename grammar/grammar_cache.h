#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/grammar/structured_output.h"
#include "weft/sampling/token_constraint.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

class Gauge;
struct AnswerForm;
struct ModelFormat;

/// The constraint of a request's outputs.
struct CompiledOutput {
  std::shared_ptr<const TokenConstraint> constraint{};  ///< null: unconstrained
  /// Grammar::not_enforced(); null: every part of the schemas is enforced.
  std::shared_ptr<const std::vector<std::string>> not_enforced{};
};

/// Compiles structured output for a model's vocabulary, and keeps the most recently used grammars
/// (defaults::kMaxKeptGrammars), because most requests of an application ask for the same one. The
/// bytes of all grammars, with states and masks, are bounded. The least recently requested grammar
/// is dropped first, idle grammars before grammars in use. The first call reads the vocabulary,
/// which takes 0.5 s for 128,000 tokens. Thread-safe and cheap to copy: copies share everything.
class GrammarCache {
 public:
  explicit GrammarCache(Tokenizer tokenizer);
  /// Holds at most `memory_bytes`, and shows the bytes held in `held`; null: they are not shown.
  GrammarCache(Tokenizer tokenizer, std::size_t memory_bytes,
               std::shared_ptr<Gauge> held = nullptr);

  /// Returns the present bytes of all grammars, states and masks. Grammars in use may exceed the
  /// limit until their sequences have advanced by a step.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

  /// Returns the constraint of a request's outputs: none for kNone. Takes up to 0.1 s for a new
  /// constraint. Errors: those of GrammarErrc, whose detail begins with `output.name`; kNoRoom when
  /// the grammars in use hold more than the limit.
  [[nodiscard]] Result<CompiledOutput> compile(const StructuredOutput& output) const;
  /// Returns the constraint of outputs with thoughts or calls. Errors begin with the place in the
  /// tools, or with `form.answer.name`.
  [[nodiscard]] Result<CompiledOutput> compile(const AnswerForm& form) const;
  /// Adds a bound on the tokens of thoughts. `inner` is a constraint compiled above, or null where
  /// nothing else is constrained. For a format without thoughts it returns `inner`. kBadGrammar
  /// where the tokenizer cannot write the text that ends a thought.
  [[nodiscard]] Result<std::shared_ptr<const TokenConstraint>> bound_thoughts(
      std::shared_ptr<const TokenConstraint> inner, const ModelFormat& format, bool in_thought,
      std::int32_t tokens) const;

 private:
  template <class Make>
  Result<CompiledOutput> compiled(std::string key, const Make& make) const;

  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
