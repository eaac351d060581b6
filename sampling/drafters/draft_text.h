#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/token.h"
#include "weft/sampling/token_history.h"

namespace weft {

/// A text beside a sequence. A drafter searches it to guess the next tokens of the sequence.
/// Immutable once it is made, thread-safe. Takes 44 to 60 bytes for each token.
class DraftText {
 public:
  static constexpr std::int32_t kNowhere = sampling::TokenHistory::kNowhere;

  /// Leaves out tokens that are not in the vocabulary, since the model cannot write them.
  DraftText(std::span<const TokenId> tokens, std::size_t vocabulary);

  [[nodiscard]] std::span<const TokenId> tokens() const { return history_.tokens(); }
  /// Returns the last position of a token, or kNowhere.
  [[nodiscard]] std::int32_t last(TokenId token) const;
  /// Returns the position of the same token before `position`, or kNowhere.
  [[nodiscard]] std::int32_t previous(std::size_t position) const {
    return history_.previous(position);
  }

 private:
  sampling::TokenHistory history_;
};

}  // namespace weft
