#include "weft/sampling/steps/fsd.h"

#include <algorithm>
#include <array>

#include "weft/kernels/sample/portable_exp.h"
#include "weft/sampling/defaults.h"
#include "weft/sampling/steps/repeats.h"
#include "weft/sampling/steps/softmax.h"
#include "weft/sampling/steps/top_tokens.h"

namespace weft::sampling {
namespace {

/// The share of the remaining weight that each order takes; the authors' beta.
constexpr double kOrderShare = 0.9;

constexpr auto kOrders = static_cast<std::size_t>(defaults::kMaxFsdNgram);
constexpr auto kWidth = static_cast<std::size_t>(defaults::kMaxFsdTopK);

/// How often each candidate followed the text's last tokens. Entry [n]: after at least n of them.
struct Followers {
  std::array<std::uint32_t, kOrders> contexts{};
  std::array<std::array<std::uint32_t, kWidth>, kOrders> times{};
};

void count_followers(const TokenHistory& history, std::size_t longest,
                     std::span<const TokenLogprob> top, Followers& followers) {
  for_each_repeat(history, 0, longest, [&](TokenId next, std::size_t length) {
    const auto found = std::ranges::find(top, next, &TokenLogprob::token);
    const auto candidate = static_cast<std::size_t>(found - top.begin());
    for (std::size_t n = 1; n <= length; ++n) {
      ++followers.contexts[n];
      if (candidate < top.size()) ++followers.times[n][candidate];
    }
  });
}

double ngram_probability(const Followers& followers, std::size_t longest, std::size_t candidate,
                         double share_in_text) {
  double remains = 1;
  double result = 0;
  for (std::size_t n = longest; n >= 1; --n) {
    if (followers.times[n][candidate] == 0) continue;
    result += remains * kOrderShare * followers.times[n][candidate] / (followers.contexts[n] + 1.0);
    remains *= 1 - kOrderShare;
  }
  return result + remains * share_in_text;
}

}  // namespace

TokenId choose_by_fsd(std::span<const float> logits, const FsdParams& params,
                      const TokenHistory& history, std::span<TokenLogprob> top) {
  const auto candidates = top_tokens(logits, top.first(static_cast<std::size_t>(params.top_k)));
  const Softmax softmax = softmax_of(logits);
  const auto longest = static_cast<std::size_t>(params.max_ngram) - 1;
  Followers followers;
  count_followers(history, longest, candidates, followers);
  const double alpha = params.alpha;
  TokenId best = kNoToken;
  double best_score = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const TokenCount* count = history.find(candidates[i].token);
    const double share = count == nullptr ? 0.0
                                          : static_cast<double>(count->total) /
                                                static_cast<double>(history.tokens().size());
    const double model =
        static_cast<double>(exp_of_negative(distance_of(candidates[i].logprob, softmax.best))) /
        softmax.sum;
    const double score =
        (1 - alpha) * model - alpha * ngram_probability(followers, longest, i, share);
    if (best != kNoToken && score <= best_score) continue;
    best = candidates[i].token;
    best_score = score;
  }
  return best;
}

}  // namespace weft::sampling
