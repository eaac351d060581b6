#include "weft/sampling/token_history.h"

#include <algorithm>
#include <bit>

#include "weft/kernels/require.h"

namespace weft::sampling {

TokenHistory::TokenHistory(std::size_t vocabulary, std::size_t max_context)
    : vocabulary_(vocabulary),
      tokens_(max_context),
      previous_(max_context),
      counts_(std::min(vocabulary, max_context)) {
  require(max_context <= INT32_MAX, "token_history: more tokens than positions");
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(2 * counts_.size(), 2));
  slots_.resize(slots);
  shift_ = 32U - static_cast<unsigned>(std::countr_zero(slots));
}

void TokenHistory::clear(std::size_t prompt_tokens, std::size_t window) {
  next_epoch();
  size_ = 0;
  distinct_ = 0;
  prompt_tokens_ = prompt_tokens;
  window_ = window;
}

void TokenHistory::copy(const TokenHistory& other) {
  require(other.vocabulary_ == vocabulary_ && other.tokens_.size() == tokens_.size(),
          "token_history: a copy of another size");
  clear(other.prompt_tokens_, other.window_);
  size_ = other.size_;
  distinct_ = other.distinct_;
  std::ranges::copy(other.tokens(), tokens_.begin());
  std::copy_n(other.previous_.begin(), size_, previous_.begin());
  std::ranges::copy(other.counts(), counts_.begin());
  for (std::size_t i = 0; i < distinct_; ++i) {
    slots_[slot_of(counts_[i].token)] = {epoch_, static_cast<std::uint32_t>(i)};
  }
}

void TokenHistory::push(TokenId token) {
  require(token >= 0 && static_cast<std::size_t>(token) < vocabulary_,
          "token_history: a token outside the vocabulary");
  require(size_ < tokens_.size(), "token_history: more tokens than max_context");
  TokenCount& count = count_of(token);
  ++count.total;
  ++count.in_window;
  count.output_in_window += size_ >= prompt_tokens_ ? 1 : 0;
  tokens_[size_] = token;
  previous_[size_] = count.last;
  count.last = static_cast<std::int32_t>(size_);
  if (window_ != 0 && size_ >= window_) {
    const std::size_t position = size_ - window_;
    TokenCount& leaves = count_of(tokens_[position]);
    --leaves.in_window;
    leaves.output_in_window -= position >= prompt_tokens_ ? 1 : 0;
  }
  ++size_;
}

const TokenCount* TokenHistory::find(TokenId token) const {
  const Slot& slot = slots_[slot_of(token)];
  return slot.epoch == epoch_ ? &counts_[slot.index] : nullptr;
}

std::size_t TokenHistory::slot_of(TokenId token) const {
  // Multiplicative hashing: the high bits are the well mixed ones.
  const std::uint32_t hash = static_cast<std::uint32_t>(token) * 0x9E3779B1U;
  std::size_t at = hash >> shift_;
  while (slots_[at].epoch == epoch_ && counts_[slots_[at].index].token != token) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

TokenCount& TokenHistory::count_of(TokenId token) {
  Slot& slot = slots_[slot_of(token)];
  if (slot.epoch != epoch_) {
    slot = {epoch_, static_cast<std::uint32_t>(distinct_)};
    counts_[distinct_++] = {.token = token};
  }
  return counts_[slot.index];
}

void TokenHistory::next_epoch() {
  if (++epoch_ != 0) return;
  std::ranges::fill(slots_, Slot{});
  epoch_ = 1;
}

}  // namespace weft::sampling
