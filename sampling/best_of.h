#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

/// How probable an output was.
struct OutputScore {
  double logprob_sum = 0;  ///< of its tokens' logprobs
  std::size_t tokens = 0;
};

/// Returns the indices of the best `count` outputs, best first: by the mean logprob of a token, as
/// OpenAI's best_of has it, so that a longer output is not worse for being longer. Of equal ones
/// the earlier; an output of no tokens or of no number comes last.
[[nodiscard]] std::vector<std::size_t> best_outputs(std::span<const OutputScore> outputs,
                                                    std::size_t count);

}  // namespace weft
