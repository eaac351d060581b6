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

/// Compiles structured output for a model's vocabulary, and keeps what was used last
/// (defaults::kMaxKeptGrammars), since most requests of an application ask for the same. All
/// grammars together, with their states and masks, are held to a number of bytes: what was asked
/// for longest ago is given up first, idle grammars before those in use. The vocabulary is looked
/// at when the first one comes: 0.5 s for 128,000 tokens. Thread-safe and cheap to copy: copies
/// share everything.
class GrammarCache {
 public:
  explicit GrammarCache(Tokenizer tokenizer);
  /// May hold `memory_bytes`, and shows in `held` how many it does; null: nowhere.
  GrammarCache(Tokenizer tokenizer, std::size_t memory_bytes,
               std::shared_ptr<Gauge> held = nullptr);

  /// The bytes of all grammars, states and masks now. What is in use may hold more than is allowed
  /// until its sequences have gone on by a step.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

  /// Returns what constrains the outputs of a request: nothing for kNone. Takes up to 0.1
  /// s for a new constraint. Errors: those of GrammarErrc, whose detail begins with `output.name`;
  /// kNoRoom when what is in use holds more than is allowed.
  [[nodiscard]] Result<CompiledOutput> compile(const StructuredOutput& output) const;
  /// The same of outputs that have thoughts or calls in them. Errors begin with the place in the
  /// tools, or with `form.answer.name`.
  [[nodiscard]] Result<CompiledOutput> compile(const AnswerForm& form) const;
  /// Bounds the tokens of thoughts besides: `inner` as compiled above, or null where all else is
  /// free. Of a format without thoughts it is `inner`. kBadGrammar where the tokenizer has no way
  /// to write what ends a thought.
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
