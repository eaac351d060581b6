#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/kernels/sample/sample.h"
#include "weft/sampling/portable_math.h"
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

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// A row of logits and the softmax of all that the model gave, which more may have part in.
struct Row {
  Logits logits;
  sampling::Softmax softmax;
};

Row row_here(const CudaSampleParams& params, std::int32_t output) {
  const float* row = static_cast<const float*>(params.logits.data) + output * params.logits.stride;
  Row here{{row, row + params.logits.width}, {}};
  here.softmax = sampling::softmax_of(here.logits);
  return here;
}

/// Tokens without a summary get -inf.
Row row_told(const CudaSampleParams& params, std::int32_t output) {
  Row row{Logits(static_cast<std::size_t>(params.logits.width), kMinusInfinity), {}};
  const auto each = [&](const auto& body) {
    for (std::int32_t rank = 0; rank < params.told.ranks; ++rank) {
      const ToldPart& part = params.told.parts[rank * params.told.rank_stride + output];
      if (part.count > 0) body(part, std::span(part.tokens).first(std::size_t(part.count)));
    }
  };
  each([&](const ToldPart&, std::span<const ToldToken> tokens) {
    for (const ToldToken& one : tokens) row.logits[static_cast<std::size_t>(one.token)] = one.logit;
  });
  row.softmax = sampling::softmax_of(row.logits);
  row.softmax.sum = 0;
  each([&](const ToldPart& part, std::span<const ToldToken> tokens) {
    const float distance = sampling::distance_of(tokens.front().logit, row.softmax.best);
    row.softmax.sum += static_cast<double>(part.sum) * 0x1p-40 *
                       sampling::portable_exp(static_cast<double>(distance));
  });
  return row;
}

void mask(Logits& logits, const std::uint32_t* bits) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if ((bits[i / 32] >> (i % 32) & 1U) == 0) logits[i] = kMinusInfinity;
  }
}

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

SampleChoice choose_token(const Row& row, const Logits& edited, const SampleSettings& settings,
                          const SampleItem& item) {
  const Logits& logits = row.logits;
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
  const float chosen = logits[static_cast<std::size_t>(choice.token)];
  choice.logprob = sampling::logprob_of(row.softmax, chosen);
  tell_top(logits, row.softmax, settings.top_count, choice);
  return choice;
}

}  // namespace

void sample(const CudaSampleParams& params) {
  const std::int64_t vocabulary = params.logits.width;
  for (std::int32_t i = 0; i < std::min(*params.item_count, params.max_items); ++i) {
    const SampleItem& item = params.items[i];
    if (item.skipped) continue;
    const SampleSettings& settings = params.settings[item.slot];
    const bool is_told = params.told.parts != nullptr;
    const Row row = is_told ? row_told(params, item.output) : row_here(params, item.output);
    Logits edited = row.logits;
    if (item.mask >= 0) {
      mask(edited, params.masks.bits + item.mask * TokenMasks::words(vocabulary));
    }
    edit(edited, settings, params.lists[item.slot], item,
         params.counts.counts + item.slot * params.counts.vocabulary);
    params.choices[i] = choose_token(row, edited, settings, item);
    params.last_tokens[item.slot] = params.choices[i].token;
  }
}

void tell_parts(const CudaTellParams& params) {
  for (std::int64_t i = 0; i < params.rows; ++i) {
    const auto* row = static_cast<const float*>(params.logits.data) + i * params.logits.stride;
    const std::span<const float> part(row, static_cast<std::size_t>(params.logits.width));
    std::vector<TokenLogprob> room(kToldTokens);
    ToldPart& told = params.told[i];
    told.count = 0;
    for (const TokenLogprob& one : sampling::top_tokens(part, room)) {
      told.tokens[static_cast<std::size_t>(told.count++)] = {one.logprob,
                                                             params.first_token + one.token};
    }
    told.sum = static_cast<std::uint64_t>(std::llround(sampling::softmax_of(part).sum * 0x1p40));
  }
}

}  // namespace weft::cuda::reference
