#pragma once

#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// Receives the token ids of a request's prompt, for a caller that sent a text. They are set once,
/// before the request is admitted; then another thread may read them.
class PromptTokens {
 public:
  /// Sets the tokens. Called once, by the thread that prepares the request.
  void set(std::vector<TokenId> tokens) noexcept {
    tokens_ = std::move(tokens);
    known_.store(true, std::memory_order_release);
  }

  /// Returns whether the tokens are known; those of a refused request never are.
  [[nodiscard]] bool known() const noexcept { return known_.load(std::memory_order_acquire); }
  /// Returns the tokens, once they are known.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }

 private:
  std::vector<TokenId> tokens_;
  std::atomic<bool> known_{false};
};

}  // namespace weft
