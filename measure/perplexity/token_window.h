#pragma once

#include <cstddef>
#include <vector>

namespace weft::measure {

/// Consecutive tokens of a text that a model reads at once. The tokens from `first_scored` to `end`
/// are scored; earlier ones are only context.
struct TokenWindow {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first_scored = 0;

  friend bool operator==(const TokenWindow&, const TokenWindow&) = default;
};

/// Cuts `tokens` tokens into windows of at most `context` tokens that begin `stride` apart, as
/// Hugging Face's page on perplexity does: every window scores the tokens that no earlier window
/// scored. A window's first token has no token before it and is never scored. So with a stride of
/// the whole context each window leaves out one token. `stride` is 1 to `context`, `context` at
/// least 2; fewer than 2 tokens have no windows.
[[nodiscard]] std::vector<TokenWindow> sliding_windows(std::size_t tokens, std::size_t context,
                                                       std::size_t stride);

/// Counts the tokens that are scored.
[[nodiscard]] std::size_t count_scored(const std::vector<TokenWindow>& windows) noexcept;

}  // namespace weft::measure
