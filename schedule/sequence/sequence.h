#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/token.h"
#include "weft/sampling/token_constraint.h"
#include "weft/schedule/memory/page_table.h"
#include "weft/schedule/sequence/guess_record.h"
#include "weft/schedule/sequence/progress.h"
#include "weft/schedule/sequence/under_way.h"

namespace weft {

enum class SequenceEnd : std::uint8_t { kNone, kStop, kLength };

/// One generation of a group. Internal to the scheduler; the README of schedule/ says which part
/// owns which member.
struct Sequence {
  Progress progress;   ///< how far it is
  PageTable table;     ///< its pages
  UnderWay under_way;  ///< its pending results
  std::int32_t row = -1;
  std::int32_t chunk = 0;    ///< tokens that the plan in the making feeds
  std::int32_t guesses = 0;  ///< of these, guesses
  std::int32_t drafts = 0;   ///< the most of `guesses` that a draft model may make
  GuessRecord guess_record;  ///< what became of its guesses that were looked up
  GuessRecord draft_record;  ///< what became of its guesses by a draft model
  bool is_drafted = false;   ///< a draft model has guessed for it since its row began
  bool fresh = true;         ///< its row has not begun
  SequenceEnd end = SequenceEnd::kNone;
  float mirostat_mu = 0;
  double cumulative_logprob = 0;
  std::vector<TokenId> outputs;            ///< known output tokens
  std::unique_ptr<ForcedTokens> forced{};  ///< finds forced tokens; null: no jumping ahead

  Sequence() = default;
  /// A sequence with a known prompt.
  explicit Sequence(std::int32_t prompt_tokens) : progress(prompt_tokens) {}

  [[nodiscard]] bool ended() const noexcept { return end != SequenceEnd::kNone; }
  /// Adds a known output token.
  void add(TokenId token) {
    outputs.push_back(token);
    progress.learn(1);
  }
  /// Forgets computed and pending tokens. Known tokens stay; their keys and values must be computed
  /// again.
  void restart() noexcept {
    progress.restart();
    under_way.disown_results();
    chunk = guesses = drafts = 0;
    is_drafted = false;
    fresh = true;
  }
};

}  // namespace weft
