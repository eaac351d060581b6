#pragma once

#include "weft/measure/load/load.h"
#include "weft/measure/recipes/load_sweep.h"

/// The requests of FineInfer's experiments.
namespace weft::measure {

// The means of the paper's data sets. Its system allows at most 1024 tokens of prompt and of
// output.
inline constexpr RequestLengths kShareGptLike{{Lengths::Kind::kSkewed, 1, 1024, 161.31},
                                              {Lengths::Kind::kSkewed, 1, 1024, 337.99}};
inline constexpr RequestLengths kAlpacaLike{{Lengths::Kind::kSkewed, 1, 1024, 19.31},
                                            {Lengths::Kind::kSkewed, 1, 1024, 58.45}};

/// Seconds that an average request may take alone on the host device, so that a recipe takes
/// minutes.
inline constexpr double kFineinferMostAlone = 2;

}  // namespace weft::measure
