#include "weft/measure/perplexity/token_window.h"

#include <algorithm>

namespace weft::measure {

std::vector<TokenWindow> sliding_windows(std::size_t tokens, std::size_t context,
                                         std::size_t stride) {
  std::vector<TokenWindow> windows;
  std::size_t scored = 0;
  for (std::size_t begin = 0; scored < tokens; begin += stride) {
    const std::size_t end = std::min(begin + context, tokens);
    const TokenWindow window{begin, end, std::max(scored, begin + 1)};
    if (window.first_scored < end) windows.push_back(window);
    scored = end;
  }
  return windows;
}

std::size_t count_scored(const std::vector<TokenWindow>& windows) noexcept {
  std::size_t count = 0;
  for (const TokenWindow& window : windows) count += window.end - window.first_scored;
  return count;
}

}  // namespace weft::measure
