#include "weft/kernels/peaks/plain_read.h"

#include <array>
#include <cstddef>
#include <numeric>

namespace weft {

// No clones under ThreadSanitizer: the function that chooses a clone would be instrumented and
// would run before the sanitizer is set up.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("default", "avx2", "avx512f")))
#endif
std::uint64_t
add_up(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 32> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= words.size(); i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += words[i + lane];
  }
  for (; i < words.size(); ++i) sums[0] += words[i];
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace weft
