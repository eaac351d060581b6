#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// Returns [positions, width]: sines in the first half of a row, cosines in the second. The
/// frequencies are 10000^(-i / (width/2 - 1)), the last of them 1/10000 (tensor2tensor, fairseq).
/// Without `endpoint` they are 10000^(-i / (width/2)) (Vaswani et al., arXiv 1706.03762; Marian).
[[nodiscard]] std::vector<float> sinusoidal_positions(std::int64_t positions, std::int64_t width,
                                                      bool endpoint);

/// Returns [heads]: 2^(-8 (i+1) / n) for the greatest power of two n <= heads, then the odd ones
/// for 2n (Press et al., arXiv 2108.12409, and the authors' rule for other counts), each times
/// `scale`.
[[nodiscard]] std::vector<float> alibi_slopes(std::int32_t heads, float scale);

}  // namespace weft
