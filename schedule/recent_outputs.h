#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>

#include "weft/core/token.h"
#include "weft/sampling/drafters/draft_sources.h"
#include "weft/schedule/memory/tree/prefix_scope.h"

namespace weft {

/// The newest outputs. Drafters search them to guess the next tokens of later outputs of the same
/// scope. The scopes are the scopes of the prefix cache: outputs of different clients, salts and
/// adapters are kept apart, unless cached prompts are shared in the same way (Config::cache_share).
///
/// Holds a bounded number of tokens and scopes. Beyond these bounds the least recently used scope
/// is dropped. Owner only. The returned texts are immutable, and live as long as a caller holds
/// them.
class RecentOutputs {
 public:
  /// Outputs of a scope, at most: each is looked through for each guess.
  static constexpr std::size_t kMostOutputs = 8;
  /// Scopes with outputs, at most: they are searched one after the other.
  static constexpr std::size_t kMostScopes = 256;
  /// Tokens that are kept of an output, its first ones: some hundred microseconds of indexing.
  static constexpr std::size_t kMostTokens = 4'096;
  /// A shorter output is not kept: guesses begin behind three tokens that are the same.
  static constexpr std::size_t kLeastTokens = 8;

  /// `tokens` of all outputs together; 0: keeps none.
  RecentOutputs(std::int64_t tokens, std::int64_t vocabulary)
      : most_(tokens), vocabulary_(static_cast<std::size_t>(vocabulary)) {}

  /// Keeps an output. Throws std::bad_alloc; the output may have been kept then.
  void add(const PrefixScope& scope, std::span<const TokenId> output);
  /// Returns the outputs of a scope, the newest first; null if there are none. The result does not
  /// contain outputs of a later add().
  [[nodiscard]] std::shared_ptr<const DraftTexts> of(const PrefixScope& scope);

  /// Returns the number of tokens of all outputs.
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }

 private:
  struct Entry {
    PrefixScope scope;
    std::shared_ptr<const DraftTexts> texts;
  };

  [[nodiscard]] Entry* find(const PrefixScope& scope);
  void make_room();

  const std::int64_t most_;
  const std::size_t vocabulary_;
  std::int64_t tokens_ = 0;
  std::list<Entry> entries_;  // the scope used last in front
};

}  // namespace weft
