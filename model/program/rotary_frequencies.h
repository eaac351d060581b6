#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The angles of a rotary position embedding: position * frequency[i] for pair i, cosines and sines
/// times `magnitude`. LongRoPE and dynamic scaling have a second set, for sequences longer than the
/// model was first trained with.
struct RotaryFrequencies {
  std::vector<float> frequency;  ///< [R/2]
  float magnitude = 1;
  std::vector<float> long_frequency = {};  ///< empty if all sequences use one set
  float long_magnitude = 1;
  std::int64_t long_from = 0;  ///< sequences of more tokens than this use the long set
  std::int64_t context = 0;    ///< context after dynamic scaling; 0 = unchanged
  friend bool operator==(const RotaryFrequencies&, const RotaryFrequencies&) = default;
};

/// Returns the frequencies for R = `size` dimensions. `scaling` is rope_parameters or rope_scaling
/// of config.json, or null. Its kinds are default, linear (Chen et al., arXiv 2306.15595), dynamic
/// (NTK-aware scaling past `context`, up to factor times as many positions; with an `alpha` at any
/// length), llama3 (Llama 3.1's), yarn (Peng et al., arXiv 2309.00071), longrope (Ding et al.,
/// arXiv 2402.13753) and proportional (only the first pairs are rotated, `partial_rotary_factor` of
/// all: Gemma 4). Its `divisors` [R/2] divide the frequencies first. `context` and
/// `trained_context` are in tokens. kBadConfig.
[[nodiscard]] Result<RotaryFrequencies> rotary_frequencies(std::int32_t size, double theta,
                                                           const boost::json::value& scaling,
                                                           std::int64_t context,
                                                           std::int64_t trained_context);

}  // namespace weft
