#pragma once

#include <memory>

#include "weft/core/error/error.h"
#include "weft/grammar/structured_output.h"
#include "weft/sampling/token_constraint.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Compiles structured output for a model's vocabulary, and keeps what was used last
/// (defaults::kMaxKeptGrammars), since most requests of an application ask for the same. The
/// vocabulary is looked at when the first one comes: 0.5 s for 128,000 tokens. Thread-safe and
/// cheap to copy: copies share everything.
class GrammarCache {
 public:
  explicit GrammarCache(Tokenizer tokenizer);

  /// Returns what constrains the outputs of a request, null for kNone. Takes up to 0.1 s for
  /// something new. Errors: those of GrammarErrc, whose detail begins with `output.name`.
  [[nodiscard]] Result<std::shared_ptr<const TokenConstraint>> compile(
      const StructuredOutput& output) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
