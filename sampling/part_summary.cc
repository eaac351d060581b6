#include "weft/sampling/part_summary.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "weft/kernels/require.h"
#include "weft/sampling/portable_math.h"
#include "weft/sampling/steps/softmax.h"
#include "weft/sampling/steps/top_tokens.h"

namespace weft {
namespace {

constexpr std::size_t kBest = 0;
constexpr std::size_t kSum = 1;
constexpr std::size_t kFirstPair = 2;

/// Means "no token". Tokens' numbers are floats, which are exact up to 2^24.
constexpr float kNobody = -1;

bool changes_logits(const SamplingParams& params) {
  const PenaltyParams& penalties = params.penalties;
  return params.logit_processor || params.constraint || !params.logit_bias.empty() ||
         !params.bad_tokens.empty() || !params.allowed_tokens.empty() || params.min_tokens > 0 ||
         penalties.repetition != 1 || penalties.frequency != 0 || penalties.presence != 0 ||
         params.dry.multiplier != 0;
}

}  // namespace

LogitNeeds logit_needs(const SamplingParams& params) noexcept {
  const bool takes_best = params.temperature == 0;
  const bool has_top_k = params.top_k > 0 && params.top_k <= kPartCandidates;
  if (changes_logits(params) || params.fsd.alpha > 0 || params.beams.num_beams > 1 ||
      params.dynamic_temperature.range > 0 || (!takes_best && !has_top_k)) {
    return LogitNeeds::kAll;
  }
  const bool tells_logprobs =
      params.logprobs || params.top_logprobs > 0 || params.best_of > params.n;
  return tells_logprobs && !params.logprobs_after_samplers ? LogitNeeds::kCandidatesAndSum
                                                           : LogitNeeds::kCandidates;
}

void tell_part(std::span<const float> part, std::int64_t first, LogitNeeds needs,
               std::span<float> numbers) {
  std::array<TokenLogprob, kPartCandidates> room;
  const std::span<TokenLogprob> greatest = sampling::top_tokens(part, room);
  for (TokenLogprob& one : greatest) one.token += static_cast<TokenId>(first);
  const bool wants_sum = needs == LogitNeeds::kCandidatesAndSum;
  tell_part(greatest, wants_sum ? static_cast<float>(sampling::softmax_of(part).sum) : 0.0F,
            numbers);
}

void tell_part(std::span<const TokenLogprob> greatest, float sum, std::span<float> numbers) {
  require(numbers.size() == static_cast<std::size_t>(kPartNumbers), "part: room for its numbers");
  std::ranges::fill(numbers, kNobody);
  numbers[kBest] = greatest.empty() ? sampling::kMinusInfinity : greatest.front().logprob;
  numbers[kSum] = sum;
  std::size_t at = kFirstPair;
  for (const TokenLogprob& one : greatest) {
    numbers[at++] = static_cast<float>(one.token);
    numbers[at++] = one.logprob;
  }
}

float join_parts(std::span<const float> numbers, LogitNeeds needs, std::span<float> logits) {
  const auto of_part = static_cast<std::size_t>(kPartNumbers);
  require(numbers.size() % of_part == 0, "parts: as many numbers as they tell");
  std::ranges::fill(logits, sampling::kMinusInfinity);
  float best = sampling::kMinusInfinity;
  for (std::size_t part = 0; part < numbers.size(); part += of_part) {
    best = std::max(best, numbers[part + kBest]);
    for (std::size_t i = part + kFirstPair; i < part + of_part; i += 2) {
      if (numbers[i] == kNobody) break;
      logits[static_cast<std::size_t>(numbers[i])] = numbers[i + 1];
    }
  }
  if (needs != LogitNeeds::kCandidatesAndSum || best == sampling::kMinusInfinity) return 0;
  double sum = 0;
  for (std::size_t part = 0; part < numbers.size(); part += of_part) {
    // A part whose best logit is -inf has a distance of -inf, too.
    const auto distance = static_cast<double>(sampling::distance_of(numbers[part + kBest], best));
    sum += static_cast<double>(numbers[part + kSum]) * sampling::portable_exp(distance);
  }
  return static_cast<float>(sampling::portable_log(sampling::softmax_of(logits).sum) -
                            sampling::portable_log(sum));
}

}  // namespace weft
