#pragma once

#include <span>

#include "weft/sampling/sampler.h"
#include "weft/sampling/sequence_state.h"

namespace weft::sampling {

/// Whether a parameter looks back at the sequence's tokens.
[[nodiscard]] bool looks_back(const SamplingParams& params);

/// Whether a step changes logits at this position of the sequence.
[[nodiscard]] bool edits_logits(const SequenceState& state);

/// Steps 0 to 5 of a choice (sampler.h), in place. Throws what the request's LogitProcessor throws.
void edit_logits(std::span<float> logits, const SequenceState& state, ChoiceScratch& scratch);

/// Writes a mask of the tokens that steps 0 and 3 of a choice permit, if there is a constraint. The
/// steps between them permit no further tokens.
void write_mask(std::span<std::uint32_t> mask, const SequenceState& state);

/// Runs all steps of a choice. `guess` is as for Sampler::sample().
[[nodiscard]] SampleOutcome choose(std::span<float> logits, SequenceState& state,
                                   ChoiceScratch& scratch, TokenId guess = kNoToken);

}  // namespace weft::sampling
