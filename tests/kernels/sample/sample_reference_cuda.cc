#include <algorithm>
#include <vector>

#include "weft/kernels/sample/sample.h"
#include "weft/sampling/random_stream.h"
#include "weft/sampling/steps/candidates.h"
#include "weft/sampling/steps/logit_edits.h"
#include "weft/sampling/steps/softmax.h"
#include "weft/sampling/steps/top_tokens.h"
#include "weft/sampling/steps/truncation.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

namespace weft::cuda::reference {
namespace {

using Logits = std::vector<float>;

/// Steps 1 to 4 of sampling/sampler.h.
void edit(Logits& logits, const SampleSettings& settings, const SampleLists& lists,
          const SampleItem& item, const std::uint32_t* counts) {
  const auto first = [](const auto& list, std::int32_t count) {
    return std::span(list).first(static_cast<std::size_t>(count));
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(settings.biases); ++i) {
    logits[static_cast<std::size_t>(lists.bias_token[i])] += lists.bias[i];
  }
  sampling::mask_tokens(logits, first(lists.bad, settings.bad));
  if (settings.allowed > 0) {
    std::vector<float> kept(static_cast<std::size_t>(settings.allowed));
    sampling::mask_all_but(logits, first(lists.allowed, settings.allowed), kept);
  }
  if (item.output_tokens < settings.min_tokens) {
    sampling::mask_tokens(logits, first(lists.stops, settings.stops));
  }
  if (!settings.counts) return;
  const PenaltyParams penalties{.repetition = settings.repetition,
                                .frequency = settings.frequency,
                                .presence = settings.presence};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (counts[i] == 0) continue;
    const weft::sampling::TokenCount count{.token = static_cast<TokenId>(i),
                                           .in_window = 1,
                                           .output_in_window = counts[i] & 0x7fffffffU};
    sampling::apply_penalties(logits, penalties, std::span(&count, 1));
  }
}

/// Steps 7 to 16.
TokenId draw(const Logits& logits, const SampleSettings& settings, const SampleItem& item) {
  const auto position = static_cast<std::uint64_t>(item.position);
  std::vector<std::uint64_t> keys(2 * logits.size());
  if (!(settings.temperature > 0) || settings.typical_p >= 1) {
    return weft::sample(logits,
                        {.temperature = settings.temperature,
                         .top_p = settings.top_p,
                         .top_k = settings.top_k,
                         .min_p = settings.min_p,
                         .seed = settings.seed,
                         .draw = position},
                        keys);
  }
  const TokenId best = weft::sample(logits, {}, {});
  if (best == kNoToken) return kNoToken;
  std::vector<sampling::Candidate> room(logits.size());
  auto kept = sampling::sorted_candidates(logits, logits[static_cast<std::size_t>(best)],
                                          settings.temperature, settings.top_k, keys, room);
  kept = sampling::typical(kept, settings.typical_p);
  if (settings.top_p < 1) kept = sampling::top_p(kept, settings.top_p);
  if (settings.min_p > 0) kept = sampling::min_p(kept, settings.min_p);
  const auto purpose = sampling::Purpose::kDraw;
  return sampling::draw(kept, sampling::random_number(purpose, settings.seed, position)).token;
}

void tell_top(const Logits& logits, const sampling::Softmax& softmax, std::int32_t count,
              SampleChoice& choice) {
  std::vector<TokenLogprob> room(static_cast<std::size_t>(count));
  for (const TokenLogprob& entry : sampling::top_tokens(logits, room)) {
    choice.top[static_cast<std::size_t>(choice.top_count++)] = {
        entry.token, sampling::logprob_of(softmax, entry.logprob)};
  }
}

SampleChoice choose_token(const Logits& logits, const Logits& edited,
                          const SampleSettings& settings, const SampleItem& item) {
  SampleChoice choice;
  if (settings.beams) {
    tell_top(edited, sampling::softmax_of(edited), settings.top_count, choice);
    if (choice.top_count == 0) return choice;
    choice.token = choice.top[0].token;
    choice.logprob = choice.top[0].logprob;
    return choice;
  }
  choice.token = draw(edited, settings, item);
  if (choice.token == kNoToken || (!settings.logprobs && settings.top_count == 0)) return choice;
  const sampling::Softmax softmax = sampling::softmax_of(logits);
  choice.logprob = sampling::logprob_of(softmax, logits[static_cast<std::size_t>(choice.token)]);
  tell_top(logits, softmax, settings.top_count, choice);
  return choice;
}

}  // namespace

void sample(const CudaSampleParams& params) {
  const std::int64_t vocabulary = params.logits.width;
  for (std::int32_t i = 0; i < std::min(*params.item_count, params.max_items); ++i) {
    const SampleItem& item = params.items[i];
    if (item.skipped) continue;
    const SampleSettings& settings = params.settings[item.slot];
    const float* row =
        static_cast<const float*>(params.logits.data) + item.output * params.logits.stride;
    const Logits logits(row, row + vocabulary);
    Logits edited = logits;
    edit(edited, settings, params.lists[item.slot], item,
         params.counts.counts + item.slot * params.counts.vocabulary);
    params.choices[i] = choose_token(logits, edited, settings, item);
    params.last_tokens[item.slot] = params.choices[i].token;
  }
}

}  // namespace weft::cuda::reference
