#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/sampling/drafters/draft_sources.h"
#include "weft/sampling/drafters/draft_text.h"
#include "weft/sampling/drafters/drafter.h"
#include "weft/sampling/token_history.h"

namespace weft {

/// Guesses that a sequence continues as it did when its newest tokens occurred earlier, in its
/// prompt or output. So it predicts edits, quotes and filled-in forms well (suffix decoding, arXiv
/// 2411.04975, over one sequence). It searches the output that the request predicts, and recent
/// outputs of its client, in the same way.
///
/// Among the places where the newest token occurred earlier, it takes those with the longest match
/// of the preceding tokens. Each place votes for the token that followed there. The token with the
/// most votes is guessed; places that voted for another token no longer vote. It guesses at most as
/// many tokens as matched, and stops when less than half of the places agree. After a wrong first
/// guess the sequence needs a match that is one token longer; after a right one, a shorter match.
///
/// Each text votes by itself, and the text with the longest match is taken. If matches are equally
/// long, the prediction goes before the sequence, and the sequence before recent outputs. While the
/// output equals the beginning of the prediction, it counts as a match of any length. Since a
/// prediction predicts its whole text, the number of its guesses is not bounded by the match.
///
/// Takes the memory of a slot, a TokenHistory, for the first sequence in it, and keeps it.
class SuffixDrafter final : public Drafter {
 public:
  /// The most tokens before a place that are compared.
  static constexpr std::size_t kLongestMatch = 32;
  /// The fewest tokens that must match: two match by chance in any text.
  static constexpr std::size_t kLeastMatch = 3;
  /// The greatest number to which kLeastMatch grows.
  static constexpr std::size_t kMostNeeded = 8;
  /// The most places that are examined in each text, the newest first: this takes microseconds,
  /// while a step takes milliseconds.
  static constexpr std::size_t kMostPlaces = 1'024;
  /// The most places that vote.
  static constexpr std::size_t kMostVotes = 16;

  /// For `slots` slots, each with sequences of at most `max_context` tokens of the vocabulary.
  SuffixDrafter(std::size_t slots, std::size_t vocabulary, std::size_t max_context)
      : vocabulary_(vocabulary), max_context_(max_context), slots_(slots) {}

  void start(std::int32_t slot, std::span<const TokenId> tokens, std::size_t prompt_tokens,
             const DraftSources& sources) override;
  void observe(std::int32_t slot, std::span<const TokenId> tokens) override;
  void fork(std::int32_t from, std::int32_t to) override;
  [[nodiscard]] Draft guess(std::int32_t slot, std::span<TokenId> guesses) override;

 private:
  struct Slot {
    std::optional<sampling::TokenHistory> history{};
    std::size_t prompt_tokens = 0;
    std::weak_ptr<const DraftText> prediction{};
    std::weak_ptr<const DraftTexts> recent{};
    std::size_t needs = kLeastMatch;  // tokens that must match
    std::size_t guessed_at = 0;       // length of the sequence at its last guess; 0: never
    TokenId guessed = kNoToken;       // the first of these guesses
  };
  /// Where the newest tokens occurred earlier, in one text.
  struct Places {
    std::array<std::size_t, kMostVotes> after{};  // positions after the places, the newest first
    std::size_t count = 0;
    std::size_t matched = 0;  // tokens that match
  };

  [[nodiscard]] Slot& at(std::int32_t slot) { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] Slot& made_at(std::int32_t slot);
  static void learn(Slot& slot);
  [[nodiscard]] static Places find_own(const Slot& slot);
  [[nodiscard]] static Places find_predicted(const Slot& slot, const DraftText& prediction);
  [[nodiscard]] static Places find_recent(const Slot& slot, const DraftText& text);
  [[nodiscard]] static Draft guess_recent(const Slot& slot, std::size_t matched,
                                          std::span<TokenId> guesses);

  const std::size_t vocabulary_;
  const std::size_t max_context_;
  std::vector<Slot> slots_;
};

}  // namespace weft
