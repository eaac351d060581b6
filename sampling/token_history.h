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
  std::uint32_t in_window = 0;         ///< in the window of last tokens
  std::uint32_t output_in_window = 0;  ///< in the output part of the window
  std::int32_t last = -1;              ///< its last position
};

/// The counts of one sequence's tokens, updated with each token, and for each position the previous
/// position of the same token. A push takes constant time. The constructor allocates all memory: 44
/// to 60 bytes for each token of the longest sequence. Owner only.
class TokenHistory {
 public:
  static constexpr std::int32_t kNowhere = -1;

  TokenHistory(std::size_t vocabulary, std::size_t max_context);

  /// Begins a sequence whose first `prompt_tokens` tokens are the prompt. The last `window` tokens
  /// count; 0: all.
  void clear(std::size_t prompt_tokens, std::size_t window);

  /// Becomes a copy of `other`, which has the same sizes.
  void copy(const TokenHistory& other);

  /// At most max_context tokens, each in the vocabulary.
  void push(TokenId token);

  [[nodiscard]] std::span<const TokenId> tokens() const { return {tokens_.data(), size_}; }

  /// Returns each different token of the sequence, in the order of first occurrence.
  [[nodiscard]] std::span<const TokenCount> counts() const { return {counts_.data(), distinct_}; }

  /// The count of a token, nullptr if it does not occur.
  [[nodiscard]] const TokenCount* find(TokenId token) const;

  /// The previous position of the token at `position`, or kNowhere.
  [[nodiscard]] std::int32_t previous(std::size_t position) const { return previous_[position]; }

 private:
  struct Slot {
    std::uint32_t epoch = 0;  ///< the slot is in use if it equals the history's epoch
    std::uint32_t index = 0;  ///< index into counts_
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
