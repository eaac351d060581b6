#pragma once

#include "weft/sampling/steps/candidates.h"

/// The steps that take candidates out. Each gets what the one before left, whose probabilities it
/// takes to sum up to 1, and keeps at least one. Thread-safe; time is linear.
namespace weft::sampling {

/// Tail-free sampling (Bricken, "Tail free sampling", 2019): the curvature of the sorted
/// probabilities, |p[i] - 2 p[i+1] + p[i+2]|, is normalized and added up, and the tail begins where
/// the sum passes `z`: of n candidates the first stays, the one at i + 1 stays while the sum up to
/// i is at most z, the last goes. All stay when there are less than three, or no curvature.
[[nodiscard]] Candidates tail_free(Candidates candidates, float z);

/// Locally typical sampling (Meister et al., arXiv 2202.00666, section 4): those whose surprise is
/// nearest the entropy, as few as have the probability `p` together. Of two that are as near the
/// more probable comes first, and of equally probable ones whichever keeps the stretch whole.
[[nodiscard]] Candidates typical(Candidates candidates, float p);

/// The smallest set of the most probable with the probability `p` together (Holtzman et al., arXiv
/// 1904.09751, section 3.1).
[[nodiscard]] Candidates top_p(Candidates candidates, float p);

/// Those with at least `p` times the probability of the most probable (Nguyen et al., arXiv
/// 2407.01082, section 3).
[[nodiscard]] Candidates min_p(Candidates candidates, float p);

/// XTC: of those with a probability of at least `threshold` only the least probable stays, and all
/// that are below.
[[nodiscard]] Candidates exclude_top_choices(Candidates candidates, float threshold);

}  // namespace weft::sampling
