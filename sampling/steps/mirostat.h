#pragma once

#include <cstddef>

#include "weft/sampling/sampling_params.h"
#include "weft/sampling/steps/candidates.h"

/// Mirostat (Basu et al., arXiv 2007.14966). Its state is mu, the most surprise in bits that a
/// token may have; mu begins at 2 tau. Surprises use the probabilities of the tokens that earlier
/// steps left, before Mirostat removes any.
namespace weft::sampling {

/// Returns the candidates that may be drawn, at least one. Version 1 (algorithm 1) estimates the
/// exponent of Zipf's law from the 100 most probable, and keeps the number of candidates whose
/// cross-entropy under that law is mu, for a vocabulary of `vocabulary` tokens. Version 2 (the
/// authors' simplification) keeps candidates whose surprise is at most mu.
[[nodiscard]] Candidates mirostat_keep(Candidates candidates, const MirostatParams& params,
                                       float mu, std::size_t vocabulary);

/// Returns mu after a token of this surprise (bits): mu - eta (surprise - tau). Never 0, which
/// means no state.
[[nodiscard]] float mirostat_next(float mu, const MirostatParams& params, double surprise);

/// -log2 of the probability of a candidate among candidates of this mass.
[[nodiscard]] double surprise_of(const Candidate& candidate, double mass);

}  // namespace weft::sampling
