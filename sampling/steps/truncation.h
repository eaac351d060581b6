#pragma once

#include "weft/sampling/steps/candidates.h"

/// The steps that remove candidates. Each step gets the candidates that the previous step left,
/// renormalizes them, and keeps at least one. Thread-safe; time is linear.
namespace weft::sampling {

/// Tail-free sampling (Bricken, "Tail free sampling", 2019): normalizes and adds up the curvature
/// of the sorted probabilities, |p[i] - 2 p[i+1] + p[i+2]|. The tail begins where the sum exceeds
/// `z`: candidate 0 stays, candidate i + 1 stays while the sum up to i is at most z, the last goes.
/// All stay if there are fewer than three, or no curvature.
[[nodiscard]] Candidates tail_free(Candidates candidates, float z);

/// Locally typical sampling (Meister et al., arXiv 2202.00666, section 4): keeps the candidates
/// with surprise nearest the entropy, the fewest that together have the probability `p`. Ties go to
/// the more probable, and among equally probable to the one that keeps the result contiguous.
[[nodiscard]] Candidates typical(Candidates candidates, float p);

/// Keeps the fewest most probable candidates that together have the probability `p` (Holtzman et
/// al., arXiv 1904.09751, section 3.1).
[[nodiscard]] Candidates top_p(Candidates candidates, float p);

/// Keeps candidates with at least `p` times the probability of the most probable (Nguyen et al.,
/// arXiv 2407.01082, section 3).
[[nodiscard]] Candidates min_p(Candidates candidates, float p);

/// XTC: removes candidates with a probability of at least `threshold`, except the least probable
/// of them.
[[nodiscard]] Candidates exclude_top_choices(Candidates candidates, float threshold);

}  // namespace weft::sampling
