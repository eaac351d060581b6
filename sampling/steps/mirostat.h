#pragma once

#include <cstddef>

#include "weft/sampling/sampling_params.h"
#include "weft/sampling/steps/candidates.h"

/// Mirostat (Basu et al., arXiv 2007.14966). Its state is mu, the surprise in bits that a token may
/// have; it begins at 2 tau. Surprises are by the probabilities of what the steps before left,
/// before Mirostat takes out its own.
namespace weft::sampling {

/// The candidates that may be drawn, at least one. Version 1 (algorithm 1): estimates the exponent
/// of Zipf's law from the 100 most probable and keeps as many as have the cross-entropy mu by it,
/// in a vocabulary of so many tokens. Version 2 (the authors' simplification): those whose surprise
/// is at most mu.
[[nodiscard]] Candidates mirostat_keep(Candidates candidates, const MirostatParams& params,
                                       float mu, std::size_t vocabulary);

/// mu after a token that had this surprise (bits): mu - eta (surprise - tau). Never 0, which would
/// mean that there is no state.
[[nodiscard]] float mirostat_next(float mu, const MirostatParams& params, double surprise);

/// -log2 of the probability of a candidate among candidates of this mass.
[[nodiscard]] double surprise_of(const Candidate& candidate, double mass);

}  // namespace weft::sampling
