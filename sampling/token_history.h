#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"

namespace weft::sampling {

/// How often one token is in a sequence.
struct TokenCount {
  TokenId token = kNoToken;
  std::uint32_t total = 0;             ///< in the whole sequence
  std::uint32_t in_window = 0;         ///< in the last tokens that count
  std::uint32_t output_in_window = 0;  ///< of these, those that are output
  std::int32_t last = -1;              ///< where it was last
};

/// The tokens of one sequence, counted while they come, and for each the position where it was
/// before. A push takes constant time. Takes its memory when it is made: 44 to 60 bytes for each
/// token of the longest sequence. Owner only.
class TokenHistory {
 public:
  static constexpr std::int32_t kNowhere = -1;

  TokenHistory(std::size_t vocabulary, std::size_t max_context);

  /// Begins a sequence whose first `prompt_tokens` are prompt; of which the last `window` count, or
  /// all with 0.
  void clear(std::size_t prompt_tokens, std::size_t window);

  /// Becomes a copy of `other`, which has the same sizes.
  void copy(const TokenHistory& other);

  /// At most max_context tokens, each in the vocabulary.
  void push(TokenId token);

  [[nodiscard]] std::span<const TokenId> tokens() const { return {tokens_.data(), size_}; }

  /// Every token of the sequence once, in the order in which they came.
  [[nodiscard]] std::span<const TokenCount> counts() const { return {counts_.data(), distinct_}; }

  /// The count of a token, nullptr when it is not there.
  [[nodiscard]] const TokenCount* find(TokenId token) const;

  /// The position where the token at `position` was before, or kNowhere.
  [[nodiscard]] std::int32_t previous(std::size_t position) const { return previous_[position]; }

 private:
  struct Slot {
    std::uint32_t epoch = 0;  ///< the slot is in use when it is the history's
    std::uint32_t index = 0;  ///< into counts_
  };

  /// The slot that holds the token, or the free one where it belongs.
  [[nodiscard]] std::size_t slot_of(TokenId token) const;
  TokenCount& count_of(TokenId token);
  void next_epoch();

  std::size_t vocabulary_;
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> previous_;
  std::vector<TokenCount> counts_;
  std::vector<Slot> slots_;  ///< open addressing, at most half full
  unsigned shift_ = 0;
  std::uint32_t epoch_ = 1;
  std::size_t size_ = 0;
  std::size_t distinct_ = 0;
  std::size_t prompt_tokens_ = 0;
  std::size_t window_ = 0;
};

}  // namespace weft::sampling
