#include "weft/sampling/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace weft {
namespace {

using Tokens = std::vector<TokenId>;

/// A model of a small vocabulary whose logprobs after each prefix are arbitrary but always the
/// same.
class TinyModel {
 public:
  TinyModel(std::size_t vocabulary, unsigned seed) : vocabulary_(vocabulary), seed_(seed) {}

  [[nodiscard]] std::vector<float> logprobs(const Tokens& prefix) const {
    std::uint32_t hash = seed_;
    for (const TokenId token : prefix)
      hash = hash * 1000003 + static_cast<std::uint32_t>(token) + 7;
    std::minstd_rand random(hash % 2147483646 + 1);
    random.discard(3);
    std::vector<double> weights(vocabulary_);
    double sum = 0;
    for (double& weight : weights) {
      weight = std::exp(std::normal_distribution<double>(0, 1.5)(random));
      sum += weight;
    }
    std::vector<float> result;
    for (const double weight : weights)
      result.push_back(static_cast<float>(std::log(weight / sum)));
    return result;
  }

  /// Returns the `count` best tokens, as a sampler does.
  [[nodiscard]] std::vector<TokenLogprob> top(const Tokens& prefix, std::size_t count) const {
    std::vector<TokenLogprob> all;
    for (const float logprob : logprobs(prefix)) {
      all.push_back({static_cast<TokenId>(all.size()), logprob});
    }
    std::ranges::stable_sort(all, [](auto a, auto b) { return a.logprob > b.logprob; });
    all.resize(std::min(all.size(), count));
    return all;
  }

 private:
  std::size_t vocabulary_;
  unsigned seed_;
};

/// Returns the logprob that the model gave each token of a text.
std::vector<float> logprobs_of(const TinyModel& model, const Tokens& text) {
  std::vector<float> result;
  Tokens before;
  for (const TokenId token : text) {
    result.push_back(model.logprobs(before).at(static_cast<std::size_t>(token)));
    before.push_back(token);
  }
  return result;
}

/// Runs a search to its end.
std::vector<BeamHypothesis> search_all(BeamSearch& search, const TinyModel& model,
                                       const BeamParams& params, std::size_t max_tokens,
                                       const Tokens& ends, std::size_t candidates) {
  search.start(params, max_tokens, ends);
  std::vector<Tokens> texts(1);
  while (!search.done()) {
    std::vector<std::vector<TokenLogprob>> lists;
    for (const Tokens& text : texts) lists.push_back(model.top(text, candidates));
    const std::vector<std::span<const TokenLogprob>> spans(lists.begin(), lists.end());
    std::vector<Tokens> next;
    for (const Beam& beam : search.advance(spans)) {
      next.push_back(texts[static_cast<std::size_t>(beam.parent)]);
      next.back().push_back(beam.token);
    }
    texts = std::move(next);
  }
  return search.best(static_cast<std::size_t>(params.num_beams));
}

/// Returns all outputs there are, best first.
std::vector<BeamHypothesis> every_output(const TinyModel& model, const BeamParams& params,
                                         std::size_t max_tokens, const Tokens& ends) {
  std::vector<BeamHypothesis> result;
  const auto grow = [&](auto& self, const Tokens& text, double sum) -> void {
    const auto logprobs = model.logprobs(text);
    for (std::size_t id = 0; id < logprobs.size(); ++id) {
      Tokens longer = text;
      longer.push_back(static_cast<TokenId>(id));
      const double score = sum + double{logprobs[id]};
      const bool ended = std::ranges::find(ends, longer.back()) != ends.end();
      if (ended || longer.size() == max_tokens) {
        const double length = static_cast<double>(longer.size());
        result.push_back({longer, score / std::pow(length, double{params.length_penalty}), ended});
      } else {
        self(self, longer, score);
      }
    }
  };
  grow(grow, {}, 0);
  std::ranges::stable_sort(result, [](const auto& a, const auto& b) { return a.score > b.score; });
  return result;
}

TEST(BeamSearchTest, WithBeamsForEverythingItFindsTheBestOfAllOutputs) {
  BeamSearch search(128, 4);
  for (unsigned seed = 1; seed < 10; ++seed) {
    const TinyModel model(4, seed);
    for (const float penalty : {0.0F, 1.0F, 2.0F, -1.0F}) {
      const BeamParams params{
          .num_beams = 128, .length_penalty = penalty, .early_stopping = EarlyStopping::kNever};
      const auto want = every_output(model, params, 4, {0});
      const auto got = search_all(search, model, params, 4, {0}, 4);
      ASSERT_EQ(got.size(), std::min<std::size_t>(want.size(), 128));
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].tokens, want[i].tokens) << "seed " << seed << " place " << i;
        ASSERT_EQ(got[i].logprobs, logprobs_of(model, got[i].tokens)) << "seed " << seed;
        ASSERT_NEAR(got[i].score, want[i].score, 1e-9);
        ASSERT_EQ(got[i].ended, want[i].ended);
      }
    }
  }
}

/// The algorithm of generate() written down as plainly as can be: whole texts, full sorts.
std::vector<BeamHypothesis> plain_search(const TinyModel& model, const BeamParams& params,
                                         std::size_t max_tokens, const Tokens& ends) {
  struct Running {
    Tokens text;
    double sum = 0;
  };
  const auto beams = static_cast<std::size_t>(params.num_beams);
  const double penalty = params.length_penalty;
  std::vector<Running> running(1);
  std::vector<BeamHypothesis> finished;
  const auto add = [&](const Running& one, bool ended) {
    const double length = static_cast<double>(one.text.size());
    finished.push_back({one.text, one.sum / std::pow(length, penalty), ended});
    std::ranges::stable_sort(finished,
                             [](const auto& a, const auto& b) { return a.score > b.score; });
    if (finished.size() > beams) finished.pop_back();
  };
  for (std::size_t length = 1; length <= max_tokens; ++length) {
    std::vector<Running> all;
    for (const Running& one : running) {
      const auto logprobs = model.logprobs(one.text);
      for (const TokenLogprob& next : model.top(one.text, logprobs.size())) {
        all.push_back({one.text, one.sum + double{next.logprob}});
        all.back().text.push_back(next.token);
      }
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.sum > b.sum; });
    running.clear();
    for (std::size_t rank = 0; rank < all.size() && running.size() < beams; ++rank) {
      const bool ends_here = std::ranges::find(ends, all[rank].text.back()) != ends.end();
      if (!ends_here) running.push_back(all[rank]);
      if (ends_here && rank < beams) add(all[rank], true);
    }
    if (running.empty()) return finished;
    if (finished.size() == beams) {
      if (params.early_stopping == EarlyStopping::kYes) return finished;
      double longest = static_cast<double>(length);
      if (params.early_stopping == EarlyStopping::kNever && penalty > 0) {
        longest = static_cast<double>(max_tokens);
      }
      if (finished.back().score >= running[0].sum / std::pow(longest, penalty)) return finished;
    }
  }
  for (const Running& one : running) add(one, false);
  return finished;
}

TEST(BeamSearchTest, ItIsThePlainAlgorithmWithEveryWayToStop) {
  BeamSearch search(8, 12);
  std::map<EarlyStopping, std::size_t> lengths;
  for (unsigned seed = 1; seed < 25; ++seed) {
    const TinyModel model(12, seed);
    for (const std::int32_t num_beams : {1, 2, 3, 8}) {
      for (const float penalty : {1.0F, 0.0F, 3.0F, -0.5F}) {
        for (const auto stopping :
             {EarlyStopping::kNo, EarlyStopping::kYes, EarlyStopping::kNever}) {
          const BeamParams params{num_beams, penalty, stopping};
          const Tokens ends = seed % 2 == 0 ? Tokens{3} : Tokens{3, 5, 7};
          const auto count = static_cast<std::size_t>(beam_candidates(num_beams, ends.size()));
          const auto want = plain_search(model, params, 12, ends);
          const auto got = search_all(search, model, params, 12, ends, count);
          ASSERT_EQ(got.size(), want.size());
          for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].tokens, want[i].tokens) << "seed " << seed << " place " << i;
            ASSERT_NEAR(got[i].score, want[i].score, 1e-9);
            ASSERT_EQ(got[i].ended, want[i].ended);
          }
          lengths[stopping] += search.length();
        }
      }
    }
  }
  EXPECT_LT(lengths[EarlyStopping::kYes], lengths[EarlyStopping::kNo]);
  EXPECT_LT(lengths[EarlyStopping::kNo], lengths[EarlyStopping::kNever]);
}

/// Advances one step over lists of candidates.
std::vector<Beam> step(BeamSearch& search, const std::vector<std::vector<TokenLogprob>>& lists) {
  const std::vector<std::span<const TokenLogprob>> spans(lists.begin(), lists.end());
  const auto beams = search.advance(spans);
  return {beams.begin(), beams.end()};
}

TEST(BeamSearchTest, OfEqualScoresTheLowerBeamAndTheEarlierCandidateComesFirst) {
  BeamSearch search(3, 5);
  const Tokens ends = {9};
  search.start({.num_beams = 3}, 5, ends);
  auto beams = step(search, {{{4, -1}, {2, -1}, {7, -1}, {1, -1}}});
  ASSERT_EQ(beams.size(), 3U);
  EXPECT_EQ(beams[0].token, 4);
  EXPECT_EQ(beams[1].token, 2);
  EXPECT_EQ(beams[2].token, 7);
  beams = step(search, {{{1, -2}}, {{6, -1}, {5, -2}}, {{8, -1}, {3, -2}}});
  ASSERT_EQ(beams.size(), 3U);
  EXPECT_EQ(beams[0].token, 6);
  EXPECT_EQ(beams[0].parent, 1);
  EXPECT_EQ(beams[1].token, 8);
  EXPECT_EQ(beams[2].token, 1);
  EXPECT_EQ(beams[2].parent, 0);
  EXPECT_EQ(beams[2].score, -3);
}

TEST(BeamSearchTest, AnEndBelowTheFirstNumBeamsIsNoOutput) {
  BeamSearch search(2, 5);
  const Tokens ends = {9};
  search.start({.num_beams = 2}, 5, ends);
  EXPECT_EQ(step(search, {{{1, -1}, {2, -2}, {9, -3}}}).size(), 2U);
  search.finish();
  ASSERT_EQ(search.best(5).size(), 2U);
  EXPECT_EQ(search.best(5)[0].tokens, Tokens{1});
  EXPECT_FALSE(search.best(5)[0].ended);
}

TEST(BeamSearchTest, WithoutCandidatesThatAreNumbersTheSearchIsDone) {
  BeamSearch search(2, 5);
  const Tokens ends = {9};
  search.start({.num_beams = 2}, 5, ends);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(step(search, {{{1, -infinity}, {2, nan}}}).empty());
  EXPECT_TRUE(search.done());
  EXPECT_TRUE(search.best(2).empty());
}

TEST(BeamSearchTest, ASearchBeginsAnew) {
  BeamSearch search(4, 6);
  const TinyModel model(6, 3);
  const BeamParams params{.num_beams = 4};
  const auto first = search_all(search, model, params, 6, {2}, 6);
  static_cast<void>(search_all(search, TinyModel(6, 9), {.num_beams = 2}, 3, {1}, 6));
  const auto again = search_all(search, model, params, 6, {2}, 6);
  ASSERT_EQ(first.size(), again.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].tokens, again[i].tokens);
}

TEST(BeamSearchTest, EveryBeamOffersEnoughToGoOn) {
  EXPECT_EQ(beam_candidates(4, 1), 8);
  EXPECT_EQ(beam_candidates(2, 5), 7);
  EXPECT_EQ(beam_candidates(16, 2), 32);
  EXPECT_EQ(beam_candidates(16, 1000), 32);
}

}  // namespace
}  // namespace weft
