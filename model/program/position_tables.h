#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// [positions, width]: sines in the first half of a row, cosines in the second, frequencies
/// 10000^(-i / (width/2 - 1)) (tensor2tensor's and fairseq's layout).
[[nodiscard]] std::vector<float> sinusoidal_positions(std::int64_t positions, std::int64_t width);

/// [heads]: 2^(-8 (i+1) / n) for the power of two n <= heads, then the odd ones of 2n (Press et
/// al., arXiv 2108.12409, and the authors' rule for other counts), each times `scale`.
[[nodiscard]] std::vector<float> alibi_slopes(std::int32_t heads, float scale);

}  // namespace weft
