#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/activation_reader.h"
#include "weft/sampling/sampler.h"

namespace weft {

/// The logprobs of a prompt's tokens: for each token but the first its logprob after the tokens
/// before it, its rank, and the most probable tokens at its position. The numbers are the same as
/// for output tokens (SamplingParams::logprobs), bit for bit on the host. Made for one request
/// (Request::prompt_logprobs). The whole prompt is computed, even if the KV cache has some of it,
/// and each token costs one product with the output head.
class PromptLogprobs final : public ActivationReader {
 public:
  /// `top`: how many most probable tokens are kept at each position, 0 .. kMaxTopLogprobs.
  /// `most`: how many logprobs there are at most, the prompt's tokens times top + 1; a request with
  /// more is refused.
  explicit PromptLogprobs(std::int32_t top,
                          std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept
      : top_count_(top), most_(most) {}

  /// Whether all logprobs are set, at the latest when the request's first token is delivered; then
  /// they are constant. Thread-safe. Use the members below only once it is true.
  [[nodiscard]] bool complete() const noexcept { return complete_.load(std::memory_order_acquire); }

  /// [P], the prompt's tokens.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
  /// The numbers of one prompt token.
  struct Entry {
    float logprob = 0;      ///< -inf, or NaN where the logits are no numbers
    std::int32_t rank = 0;  ///< 1 + how many tokens are more probable
    /// Most probable first, padded with kNoToken.
    std::span<const TokenLogprob> top{};
  };
  /// The entry of tokens()[index], for 1 <= index < P.
  [[nodiscard]] Entry entry(std::size_t index) const;
  /// The number of tokens in Entry::top.
  [[nodiscard]] std::int32_t top_count() const noexcept { return top_count_; }

  /// The most logprobs that it holds.
  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  /// Whether a prompt of so many tokens fits.
  [[nodiscard]] bool takes(std::size_t prompt) const noexcept {
    return prompt <= most_ / (static_cast<std::size_t>(top_count_) + 1);
  }

  /// Called by the engine before the first step, with the prompt; allocates all memory. Throws
  /// std::bad_alloc.
  void begin(std::span<const TokenId> prompt);

  [[nodiscard]] bool wants_logits() const noexcept override { return true; }
  /// The last token is not read, since it predicts output.
  [[nodiscard]] std::int32_t end_position() const noexcept override {
    return static_cast<std::int32_t>(tokens_.size()) - 1;
  }
  /// Called by the executor. If a sequence gave way and its prompt is computed again, the earlier
  /// numbers stay.
  void read(const TokenActivations& token) override;

 private:
  const std::int32_t top_count_;
  const std::size_t most_;
  std::vector<TokenId> tokens_;
  std::vector<float> logprobs_;      // [i] belongs to tokens_[i + 1]
  std::vector<std::int32_t> ranks_;  // likewise
  std::vector<TokenLogprob> top_;    // top_count_ of each, likewise
  std::atomic<bool> complete_{false};
};

}  // namespace weft
