#pragma once

#include <cstddef>
#include <vector>

namespace weft::measure {

/// A stretch of a text's tokens that a model reads at once. The tokens from `first_scored` to `end`
/// are scored; those before are context only.
struct TokenWindow {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first_scored = 0;

  friend bool operator==(const TokenWindow&, const TokenWindow&) = default;
};

/// Cuts `tokens` tokens into windows of at most `context` that begin `stride` apart, as the page on
/// perplexity of Hugging Face's transformers does: every window scores what no window before it
/// did. A window's first token has nothing before it and is never scored, so with a stride of the
/// whole context each window leaves out one token. `stride` is 1 to `context`, `context` at least
/// 2; fewer than 2 tokens have no windows.
[[nodiscard]] std::vector<TokenWindow> sliding_windows(std::size_t tokens, std::size_t context,
                                                       std::size_t stride);

/// Counts the tokens that are scored.
[[nodiscard]] std::size_t count_scored(const std::vector<TokenWindow>& windows) noexcept;

}  // namespace weft::measure
