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

/// One running generation of a group. The scheduler's own; this folder's README says which part
/// owns which member.
struct Sequence {
  Progress progress;   ///< how far it is
  PageTable table;     ///< its pages
  UnderWay under_way;  ///< what has no result yet
  std::int32_t row = -1;
  std::int32_t chunk = 0;    ///< tokens that the plan in the making feeds
  std::int32_t guesses = 0;  ///< of these, guesses
  GuessRecord guess_record;  ///< what became of its guesses
  bool fresh = true;         ///< its row has not begun
  SequenceEnd end = SequenceEnd::kNone;
  float mirostat_mu = 0;
  double cumulative_logprob = 0;
  std::vector<TokenId> outputs;            ///< known ones
  std::unique_ptr<ForcedTokens> forced{};  ///< of its output; null: it is not jumped ahead

  Sequence() = default;
  /// A sequence of which the prompt is known.
  explicit Sequence(std::int32_t prompt_tokens) : progress(prompt_tokens) {}

  [[nodiscard]] bool ended() const noexcept { return end != SequenceEnd::kNone; }
  /// Adds an output, which is known from now on.
  void add(TokenId token) {
    outputs.push_back(token);
    progress.learn(1);
  }
  /// Forgets what is computed and under way. What is known stays, and its keys and values have to
  /// be computed again.
  void restart() noexcept {
    progress.restart();
    under_way.disown_results();
    chunk = guesses = 0;
    fresh = true;
  }
};

}  // namespace weft
