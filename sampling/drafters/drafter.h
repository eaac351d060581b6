#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/token.h"
#include "weft/kernels/sample/sample.h"
#include "weft/sampling/drafters/draft_sources.h"
#include "weft/sampling/drafters/draft_times.h"

namespace weft {

/// The result of a drafter's guessing.
struct Draft {
  std::size_t count = 0;  ///< number of guessed tokens
  GuessSource source = GuessSource::kOwn;
  /// How many of the sequence's newest tokens equal the tokens before the place where the guesses
  /// were found; 0: there is no such place.
  std::size_t matched = 0;
};

/// A sequence of a step that may have guesses.
struct GuessTask {
  std::int32_t slot = 0;
  std::span<TokenId> room = {};  ///< for the guesses; as many as the plan allows
  std::int32_t drafts = 0;       ///< the most guesses if a draft model makes them
  /// The pages of its KV, with places for all its tokens and for `room`.
  std::span<const std::int32_t> pages = {};
  /// How the model draws the first of these tokens, as far as SampleParams says it. `draw` is the
  /// first token's position, and one more for each further token.
  SampleParams draws{};
  Draft draft{};  ///< the guesses: the first `draft.count` tokens of `room`
};

/// Guesses the next tokens of sequences, for a device that verifies guesses (speculative decoding:
/// PlanEntry::guesses). A wrong guess costs time and changes no text. A device has one for all its
/// slots. Owner only.
class Drafter {
 public:
  Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;
  virtual ~Drafter() = default;

  /// Begins a sequence in the slot, with these tokens so far. The first `prompt_tokens` tokens of
  /// the sequence are its prompt; some of them may come later by observe(). `sources` are texts
  /// beside the sequence.
  virtual void start(std::int32_t slot, std::span<const TokenId> tokens, std::size_t prompt_tokens,
                     const DraftSources& sources) = 0;
  /// Adds the next tokens of the slot's sequence, from its prompt or chosen.
  virtual void observe(std::int32_t slot, std::span<const TokenId> tokens) = 0;
  /// Begins a sequence in slot `to` with the tokens so far of the sequence in `from`.
  virtual void fork(std::int32_t from, std::int32_t to) = 0;
  /// Writes guesses of the tokens that follow the slot's sequence, the next one first. Returns how
  /// many it has written: 0 to all. Each is in the vocabulary.
  [[nodiscard]] virtual Draft guess(std::int32_t slot, std::span<TokenId> guesses) = 0;
  /// Guesses for all sequences of a step; each slot is in one task. A device calls it once in each
  /// step, after observe().
  virtual void guess_all(std::span<GuessTask> tasks) {
    for (GuessTask& task : tasks) task.draft = guess(task.slot, task.room);
  }
  /// Returns the time that a draft model took in the last guess_all().
  [[nodiscard]] virtual DraftTimes took() const noexcept { return {}; }
};

}  // namespace weft
