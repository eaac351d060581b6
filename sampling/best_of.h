#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

/// How probable an output was.
struct OutputScore {
  double logprob_sum = 0;  ///< sum of its tokens' logprobs
  std::size_t tokens = 0;
};

/// Returns the indices of the best `count` outputs, best first. Outputs are compared by the mean
/// logprob of a token, as in OpenAI's best_of, so that length alone makes none worse; ties go to
/// the earlier output. An output without tokens, or with a sum that is NaN, comes last.
[[nodiscard]] std::vector<std::size_t> best_outputs(std::span<const OutputScore> outputs,
                                                    std::size_t count);

}  // namespace weft
