#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/actors/request/vectors/result_reader.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Returns the positions of `mask` in a prompt, ascending.
[[nodiscard]] std::vector<std::int32_t> mask_positions(std::span<const TokenId> prompt,
                                                       TokenId mask);

struct TokenScore {
  TokenId token = kNoToken;
  float score = 0;  ///< probability
};

/// Returns the `count` most probable tokens of logits [V] that the tokenizer knows, the most
/// probable first, ties to the smallest id. Ignores NaN; empty if no logit is a number above
/// -inf.
[[nodiscard]] std::vector<TokenScore> likeliest_tokens(const Tokenizer& tokenizer,
                                                       std::span<const float> logits,
                                                       std::size_t count);

/// Finds the most probable tokens for each mask token of a prompt. The executor looks through the
/// logits of the mask tokens' positions; the texts are the detokenizer's work.
class MaskReader final : public ResultReader {
 public:
  /// `prompt` has the tokenizer's mask token at least once. `top_k`: tokens for each.
  MaskReader(Tokenizer tokenizer, std::vector<TokenId> prompt, std::int32_t top_k);

  [[nodiscard]] bool wants_logits() const noexcept override { return true; }
  [[nodiscard]] std::int32_t first_position() const noexcept override { return masks_.front(); }
  [[nodiscard]] std::int32_t end_position() const noexcept override { return masks_.back() + 1; }
  void read(const TokenActivations& token) override;

  [[nodiscard]] bool complete() const noexcept override;
  [[nodiscard]] bool lacks_numbers() const noexcept override;
  void give(Finish& finish) const override;

 private:
  [[nodiscard]] MaskFill fill(std::size_t mask, const TokenScore& choice,
                              std::vector<TokenId>& prompt) const;

  const Tokenizer tokenizer_;
  const std::vector<TokenId> prompt_;
  const std::vector<std::int32_t> masks_;
  const std::size_t top_k_;
  std::vector<std::vector<TokenScore>> choices_;  // the best tokens, by mask
  std::vector<bool> is_read_;                     // likewise
};

}  // namespace weft
