#include "weft/sampling/choice.h"
#include "weft/sampling/logit_processor.h"
#include "weft/sampling/steps/logit_edits.h"

namespace weft::sampling {
namespace {

bool has_penalties(const PenaltyParams& params) {
  return params.repetition != 1 || params.frequency != 0 || params.presence != 0;
}

bool below_min_tokens(const SequenceState& state) {
  return state.output_tokens() < static_cast<std::size_t>(state.params->min_tokens);
}

}  // namespace

bool looks_back(const SamplingParams& params) {
  return params.logit_processor != nullptr || has_penalties(params.penalties) ||
         params.dry.multiplier > 0 || params.fsd.alpha > 0;
}

bool edits_logits(const SequenceState& state) {
  const SamplingParams& params = *state.params;
  return params.logit_processor != nullptr || state.constraint != nullptr ||
         !params.logit_bias.empty() || !params.bad_tokens.empty() ||
         !params.allowed_tokens.empty() || below_min_tokens(state) ||
         has_penalties(params.penalties) || params.dry.multiplier > 0;
}

void edit_logits(std::span<float> logits, const SequenceState& state, ChoiceScratch& scratch) {
  const SamplingParams& params = *state.params;
  if (params.logit_processor) {
    params.logit_processor->process({state.history.tokens(), state.prompt_tokens}, logits);
  }
  bool must_end = false;
  if (state.constraint) {
    const AllowedTokens allowed = state.constraint->allowed();
    apply_constraint(logits, allowed, {state.end_tokens, params.stop_tokens}, scratch.keys);
    must_end = allowed.may_end && allowed.count == 0;
  }
  add_logit_bias(logits, params.logit_bias);
  mask_tokens(logits, params.bad_tokens);
  if (!params.allowed_tokens.empty()) mask_all_but(logits, params.allowed_tokens, scratch.allowed);
  if (below_min_tokens(state) && !must_end) {
    if (!params.ignore_eos) mask_tokens(logits, state.end_tokens);
    mask_tokens(logits, params.stop_tokens);
  }
  if (has_penalties(params.penalties)) {
    apply_penalties(logits, params.penalties, state.history.counts());
  }
  if (params.dry.multiplier > 0) {
    apply_dry(logits, params.dry, state.history, {scratch.lengths, scratch.touched});
  }
}

void write_mask(std::span<std::uint32_t> mask, const SequenceState& state) {
  const SamplingParams& params = *state.params;
  const AllowedTokens allowed = state.constraint->allowed();
  write_constraint(mask, state.vocabulary, allowed, {state.end_tokens, params.stop_tokens});
  const bool must_end = allowed.may_end && allowed.count == 0;
  if (!below_min_tokens(state) || must_end) return;
  if (!params.ignore_eos) unset_tokens(mask, state.end_tokens);
  unset_tokens(mask, params.stop_tokens);
}

}  // namespace weft::sampling
