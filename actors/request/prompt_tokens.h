#pragma once

#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// The tokens of a request's prompt, for who sent a text and wants to know them. They are set once,
/// before the request is admitted, and read by another thread then.
class PromptTokens {
 public:
  /// Called once, by the thread that prepares the request.
  void set(std::vector<TokenId> tokens) noexcept {
    tokens_ = std::move(tokens);
    known_.store(true, std::memory_order_release);
  }

  /// Whether they are known: of a request that was refused they are not.
  [[nodiscard]] bool known() const noexcept { return known_.load(std::memory_order_acquire); }
  /// The tokens, once they are known.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }

 private:
  std::vector<TokenId> tokens_;
  std::atomic<bool> known_{false};
};

}  // namespace weft
