#include "weft/sampling/choice.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "weft/kernels/sample/sample.h"
#include "weft/sampling/beam_search.h"
#include "weft/sampling/defaults.h"
#include "weft/sampling/portable_math.h"
#include "weft/sampling/random_stream.h"
#include "weft/sampling/steps/fsd.h"
#include "weft/sampling/steps/mirostat.h"
#include "weft/sampling/steps/softmax.h"
#include "weft/sampling/steps/temperature.h"
#include "weft/sampling/steps/top_tokens.h"
#include "weft/sampling/steps/truncation.h"

namespace weft::sampling {
namespace {

static_assert(defaults::kMaxUserTopLogprobs <= kMaxTopLogprobs &&
              defaults::kMaxFsdTopK <= kMaxTopLogprobs &&
              2 * defaults::kMaxSequences <= kMaxTopLogprobs);

/// The token that the samplers chose.
struct Drawn {
  TokenId token = kNoToken;
  Candidates kept;  ///< the candidates that it was drawn from; empty if it was not drawn
};

double number_of(const SequenceState& state, Purpose purpose) {
  return random_number(purpose, state.seed, state.observed);
}

/// Whether FSD chooses this token. For the first tokens of randomized FSD a coin decides.
bool chooses_by_fsd(const SequenceState& state) {
  const FsdParams& fsd = state.params->fsd;
  if (!(fsd.alpha > 0)) return false;
  if (!fsd.randomized) return true;
  return state.output_tokens() >= static_cast<std::size_t>(fsd.random_steps) ||
         number_of(state, Purpose::kFsdCoin) < 0.5;
}

float temperature_of(std::span<const float> logits, const SamplingParams& params) {
  const DynamicTemperatureParams& dynamic = params.dynamic_temperature;
  if (!(dynamic.range > 0) || !(params.temperature > 0)) return params.temperature;
  return dynamic_temperature(params.temperature, dynamic, softmax_of(logits));
}

/// Whether weft::sample() has all steps that these parameters need.
bool is_plain(const SamplingParams& params) {
  return params.tfs_z >= 1 && params.typical_p >= 1 && !(params.xtc.probability > 0) &&
         params.mirostat.version == 0;
}

/// Runs steps 9 to 14.
Candidates candidates_of(std::span<const float> logits, float best, float temperature,
                         const SequenceState& state, ChoiceScratch& scratch) {
  const SamplingParams& params = *state.params;
  Candidates kept =
      sorted_candidates(logits, best, temperature, params.top_k, scratch.keys, scratch.candidates);
  if (params.tfs_z < 1) kept = tail_free(kept, params.tfs_z);
  if (params.typical_p < 1) kept = typical(kept, params.typical_p);
  if (params.top_p < 1) kept = top_p(kept, params.top_p);
  if (params.min_p > 0) kept = min_p(kept, params.min_p);
  if (params.xtc.probability > 0 &&
      number_of(state, Purpose::kXtcCoin) < static_cast<double>(params.xtc.probability)) {
    kept = exclude_top_choices(kept, params.xtc.threshold);
  }
  return kept;
}

/// Whether a guess is chosen if it can be drawn.
bool takes_any(const SamplingParams& params, TokenId guess) {
  return params.guess_acceptance == GuessAcceptance::kLossyTop && guess != kNoToken;
}

/// Runs step 16: draws a candidate, or takes the guess if it is one.
const Candidate& draw_or_take(Candidates kept, const SequenceState& state, TokenId guess) {
  if (takes_any(*state.params, guess)) {
    const auto guessed = std::ranges::find(kept, guess, &Candidate::token);
    if (guessed != kept.end()) return *guessed;
  }
  return draw(kept, number_of(state, Purpose::kDraw));
}

/// Runs steps 15 and 16.
Drawn draw_from(Candidates kept, SequenceState& state, TokenId guess) {
  const MirostatParams& mirostat = state.params->mirostat;
  if (mirostat.version == 0) return {draw_or_take(kept, state, guess).token, kept};
  const double mass = mass_of(kept);
  kept = mirostat_keep(kept, mirostat, state.mirostat_mu, state.vocabulary);
  const Candidate& drawn = draw_or_take(kept, state, guess);
  state.mirostat_mu = mirostat_next(state.mirostat_mu, mirostat, surprise_of(drawn, mass));
  return {drawn.token, kept};
}

/// Runs steps 7 to 16. `wants_kept`: whether the caller needs Drawn::kept.
Drawn run_samplers(std::span<const float> logits, SequenceState& state, bool wants_kept,
                   ChoiceScratch& scratch, TokenId guess) {
  const SamplingParams& params = *state.params;
  if (chooses_by_fsd(state)) {
    return {choose_by_fsd(logits, params.fsd, state.history, scratch.top), {}};
  }
  const float temperature = temperature_of(logits, params);
  const bool draws = temperature > 0;
  Drawn result;
  if (!draws || is_plain(params)) {
    result.token = weft::sample(logits,
                                {.temperature = temperature,
                                 .top_p = params.top_p,
                                 .top_k = params.top_k,
                                 .min_p = params.min_p,
                                 .seed = state.seed,
                                 .draw = state.observed},
                                scratch.keys);
    const bool is_chosen = !wants_kept && !takes_any(params, guess);
    if (!draws || is_chosen || result.token == kNoToken) return result;
  }
  const auto best = weft::sample(logits, {}, {});
  if (best == kNoToken) return {};
  const Candidates kept =
      candidates_of(logits, logits[static_cast<std::size_t>(best)], temperature, state, scratch);
  if (!is_plain(params)) return draw_from(kept, state, guess);
  // weft::sample() chose this token; without logprobs it chooses the same.
  const bool takes =
      takes_any(params, guess) && std::ranges::find(kept, guess, &Candidate::token) != kept.end();
  return {takes ? guess : result.token, kept};
}

/// Turns logits into the logprobs of `softmax`.
void to_logprobs(std::span<TokenLogprob> top, const Softmax& softmax) {
  for (TokenLogprob& entry : top) entry.logprob = logprob_of(softmax, entry.logprob);
}

/// Writes logprobs by the model's logits.
void tell_model_logprobs(std::span<const float> logits, const SamplingParams& params,
                         SampleOutcome& outcome, ChoiceScratch& scratch) {
  if (outcome.token == kNoToken) return;
  const Softmax softmax = softmax_of(logits);
  outcome.logprob = logprob_of(softmax, logits[static_cast<std::size_t>(outcome.token)]);
  const auto room = std::span(scratch.top).first(static_cast<std::size_t>(params.top_logprobs));
  const auto top = top_tokens(logits, room);
  to_logprobs(top, softmax);
  outcome.top = top;
}

/// Writes logprobs by the candidates that the token was drawn from.
void tell_drawn_logprobs(const Drawn& drawn, const SamplingParams& params, SampleOutcome& outcome,
                         ChoiceScratch& scratch) {
  if (drawn.token == kNoToken) return;
  const auto wanted = static_cast<std::size_t>(params.top_logprobs);
  if (drawn.kept.empty()) {
    scratch.top[0] = {drawn.token, 0.0F};
    outcome.top = std::span(scratch.top).first(std::min<std::size_t>(wanted, 1));
    return;
  }
  const double log_mass = portable_log(mass_of(drawn.kept));
  const auto logprob = [&](const Candidate& candidate) {
    return static_cast<float>(static_cast<double>(candidate.distance) - log_mass);
  };
  const std::size_t count = std::min(wanted, drawn.kept.size());
  for (std::size_t i = 0; i < count; ++i) {
    scratch.top[i] = {drawn.kept[i].token, logprob(drawn.kept[i])};
  }
  outcome.top = std::span(scratch.top).first(count);
  const auto chosen = std::ranges::find(drawn.kept, drawn.token, &Candidate::token);
  // Sums in two different orders may disagree about the last token that top_p keeps.
  outcome.logprob = logprob(chosen == drawn.kept.end() ? drawn.kept.back() : *chosen);
}

/// Runs step 6.
SampleOutcome beam_outcome(std::span<const float> logits, const SequenceState& state,
                           ChoiceScratch& scratch) {
  const SamplingParams& params = *state.params;
  const std::size_t ends =
      params.stop_tokens.size() + (params.ignore_eos ? 0 : state.end_tokens.size());
  const auto count = static_cast<std::size_t>(beam_candidates(params.beams.num_beams, ends));
  const auto top = top_tokens(logits, std::span(scratch.top).first(count));
  if (top.empty()) return {};
  to_logprobs(top, softmax_of(logits));
  SampleOutcome outcome;
  outcome.token = top[0].token;
  outcome.logprob = top[0].logprob;
  outcome.top = top;
  return outcome;
}

/// Whether any logit is above -inf; in a working model the first one usually is.
bool has_number(std::span<const float> logits) {
  return std::ranges::any_of(
      logits, [](float logit) { return logit > -std::numeric_limits<float>::infinity(); });
}

SampleOutcome nothing(std::shared_ptr<const ChoiceFailure> why) {
  SampleOutcome outcome;
  outcome.failure = std::move(why);
  return outcome;
}

}  // namespace

SampleOutcome choose(std::span<float> logits, SequenceState& state, ChoiceScratch& scratch,
                     TokenId guess) {
  const SamplingParams& params = *state.params;
  const bool has_beams = params.beams.num_beams > 1;
  const bool wants_logprobs =
      !has_beams && (params.logprobs || params.top_logprobs > 0 || params.best_of > params.n);
  const bool before = wants_logprobs && !params.logprobs_after_samplers;
  const bool after = wants_logprobs && params.logprobs_after_samplers;
  std::span<const float> model_logits = logits;
  const bool edits = edits_logits(state);
  const bool masks_at_most = edits && has_number(logits);  // asked before edits overwrite logits
  if (edits) {
    if (before) {
      std::ranges::copy(logits, scratch.model_logits.begin());
      model_logits = std::span(scratch.model_logits).first(logits.size());
    }
    try {
      edit_logits(logits, state, scratch);
    } catch (...) {  // the step's other sequences still get their tokens
      return nothing(caught_failure(ChoiceFailure::Cause::kProcessorThrew));
    }
  }
  SampleOutcome outcome;
  if (has_beams) {
    outcome = beam_outcome(logits, state, scratch);
  } else {
    const Drawn drawn = run_samplers(logits, state, after, scratch, guess);
    outcome.token = drawn.token;
    outcome.mirostat_mu = state.mirostat_mu;
    if (before) tell_model_logprobs(model_logits, params, outcome, scratch);
    if (after) tell_drawn_logprobs(drawn, params, outcome, scratch);
  }
  if (outcome.token == kNoToken && !masks_at_most) {
    outcome.failure = choice_failure(ChoiceFailure::Cause::kNotNumbers);
  }
  return outcome;
}

}  // namespace weft::sampling
