#include "weft/gpu/cuda/step/device_sampling.h"

#include <algorithm>
#include <cstddef>

#include "weft/sampling/beam_search.h"
#include "weft/sampling/sampler.h"

namespace weft::cuda {
namespace {

static_assert(kMaxTop >= kMaxTopLogprobs);

bool wants_logprobs(const SamplingParams& params) {
  return params.logprobs || params.top_logprobs > 0 || params.best_of > params.n;
}

// Returns the number of tokens that end an output.
std::size_t ends_of(const SamplingParams& params, std::span<const TokenId> end_tokens) {
  return params.stop_tokens.size() + (params.ignore_eos ? 0 : end_tokens.size());
}

std::int32_t copy(std::span<const TokenId> from, TokenId* to) {
  std::ranges::copy(from, to);
  return static_cast<std::int32_t>(from.size());
}

}  // namespace

bool samples_on_device(const SamplingParams& params, std::span<const TokenId> end_tokens) {
  const bool strategies = params.logit_processor != nullptr || params.dry.multiplier > 0 ||
                          params.fsd.alpha > 0 || params.dynamic_temperature.range > 0 ||
                          params.tfs_z < 1 || params.xtc.probability > 0 ||
                          params.mirostat.version != 0 || params.penalties.window != 0 ||
                          params.guess_acceptance != GuessAcceptance::kExact;
  // A beam search always reports the logprobs that score its beams.
  const bool after =
      wants_logprobs(params) && params.logprobs_after_samplers && params.beams.num_beams <= 1;
  return !strategies && !after && params.logit_bias.size() <= std::size_t{kMaxTokenList} &&
         params.bad_tokens.size() <= std::size_t{kMaxTokenList} &&
         params.allowed_tokens.size() <= std::size_t{kMaxTokenList} &&
         ends_of(params, end_tokens) <= std::size_t{kMaxStopList};
}

SampleSettings sample_settings(const SamplingParams& params, std::span<const TokenId> end_tokens,
                               std::uint64_t seed, SampleLists& lists) {
  SampleSettings settings;
  settings.seed = seed;
  settings.temperature = params.temperature;
  settings.top_k = params.top_k;
  settings.typical_p = params.typical_p;
  settings.top_p = params.top_p;
  settings.min_p = params.min_p;
  const PenaltyParams& penalties = params.penalties;
  settings.repetition = penalties.repetition;
  settings.frequency = penalties.frequency;
  settings.presence = penalties.presence;
  settings.counts =
      penalties.repetition != 1 || penalties.frequency != 0 || penalties.presence != 0;
  // A constraint's masks cover min_tokens.
  settings.min_tokens = params.constraint ? 0 : params.min_tokens;
  settings.logprobs = wants_logprobs(params);
  settings.beams = params.beams.num_beams > 1;
  settings.top_count = settings.beams
                           ? beam_candidates(params.beams.num_beams, ends_of(params, end_tokens))
                           : params.top_logprobs;
  for (const LogitBias& one : params.logit_bias) {
    const auto at = static_cast<std::size_t>(settings.biases++);
    lists.bias_token[at] = one.token;
    lists.bias[at] = one.bias;
  }
  settings.bad = copy(params.bad_tokens, lists.bad.data());
  settings.allowed = copy(params.allowed_tokens, lists.allowed.data());
  if (settings.min_tokens > 0) {
    settings.stops = copy(params.stop_tokens, lists.stops.data());
    if (!params.ignore_eos) {
      settings.stops += copy(end_tokens, lists.stops.data() + settings.stops);
    }
  }
  return settings;
}

}  // namespace weft::cuda
