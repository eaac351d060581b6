#include "weft/kernels/experts/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "weft/tests/kernels/experts/experts_reference.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

/// route()'s results, and the parameters that point to them.
struct Routed {
  Table scores;
  RouteParams params;
  std::vector<std::int32_t> expert_of;
  std::vector<float> weight_of;
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> token_of;

  Routed(Table table, const RouteSpec& spec) : scores(std::move(table)), params{.spec = spec} {
    params.scores = scores.rows();
    const auto choices = static_cast<std::size_t>(params.scores.count * params.spec.chosen);
    expert_of.assign(choices, -7);
    weight_of.assign(choices, kNaN);
    order.assign(choices, -7);
    token_of.assign(choices, -7);
    starts.assign(static_cast<std::size_t>(params.scores.width + 1), -7);
    params.expert_of = expert_of;
    params.weight_of = weight_of;
    params.starts = starts;
    params.order = order;
    params.token_of = token_of;
  }
};

void expect_routes(Routed& routed) {
  in_parts(3, [&](Share share) { route(routed.params, share); });
  const auto chosen = static_cast<std::size_t>(routed.params.spec.chosen);
  for (std::int64_t t = 0; t < routed.params.scores.count; ++t) {
    const auto scores = routed.scores.row(t);
    const auto want =
        test::route_reference(routed.params.spec, routed.params.selection_bias,
                              routed.params.weight_scales, {scores.begin(), scores.end()});
    for (std::size_t r = 0; r < chosen; ++r) {
      const std::size_t at = static_cast<std::size_t>(t) * chosen + r;
      ASSERT_EQ(routed.expert_of[at], want[r].expert) << "token " << t << ", rank " << r;
      ASSERT_NEAR(routed.weight_of[at], want[r].weight, 1e-6 * routed.params.spec.scale);
    }
  }
}

/// starts, order and token_of say where the choices of each expert stand.
void expect_sorted(const Routed& routed) {
  const auto want =
      test::sort_choices(routed.expert_of, routed.params.scores.width, routed.params.spec.chosen);
  EXPECT_EQ(routed.starts, want.starts);
  EXPECT_EQ(routed.order, want.order);
  EXPECT_EQ(routed.token_of, want.token_of);
}

TEST(ExpertsTest, ChooseAsThePapersSayForEveryKindOfRouter) {
  Random random(1);
  const auto bias = random.numbers(256, -0.5F, 0.5F);
  for (const RouterKind kind :
       {RouterKind::kSoftmaxThenTopK, RouterKind::kTopKThenSoftmax, RouterKind::kSigmoid}) {
    for (const bool normalize : {false, true}) {
      for (const std::int64_t experts : {1, 4, 60, 256}) {
        for (const std::int32_t chosen : {1, 4}) {
          if (chosen > experts) continue;
          Routed routed(Table(9, experts, random, -3, 3),
                        {.kind = kind, .chosen = chosen, .normalize = normalize, .scale = 2.5F});
          if (experts == 256) routed.params.selection_bias = bias.data();
          if (experts == 60) routed.params.weight_scales = bias.data();
          SCOPED_TRACE(testing::Message() << experts << " experts, " << chosen << " chosen");
          expect_routes(routed);
          expect_sorted(routed);
        }
      }
    }
  }
}

TEST(ExpertsTest, ChooseFromTheBestGroupsOnly) {
  Random random(2);
  const auto bias = random.numbers(256, -0.5F, 0.5F);
  for (const std::int32_t group_best : {1, 2}) {
    Routed routed(Table(40, 256, random, -3, 3),
                  {.kind = group_best == 1 ? RouterKind::kSoftmaxThenTopK : RouterKind::kSigmoid,
                   .chosen = 8,
                   .groups = 8,
                   .chosen_groups = 4,
                   .group_best = group_best,
                   .normalize = group_best == 2});
    if (group_best == 2) routed.params.selection_bias = bias.data();
    expect_routes(routed);
    expect_sorted(routed);
  }
}

TEST(ExpertsTest, TakeTheLowerOfEquals) {
  Random random(3);
  Routed routed(Table(2, 12, random, 1, 1),
                {.chosen = 3, .groups = 4, .chosen_groups = 2, .group_best = 2});
  route(routed.params, Share{});
  EXPECT_EQ(routed.expert_of, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(ExpertsTest, SurviveScoresThatAreNoNumbers) {
  Random random(4);
  for (const RouterKind kind : {RouterKind::kSoftmaxThenTopK, RouterKind::kTopKThenSoftmax,
                                RouterKind::kSoftmaxOfClose, RouterKind::kSigmoid}) {
    for (const float broken : {kNaN, kInf, -kInf}) {
      Routed routed(Table(3, 6, random),
                    {.kind = kind, .chosen = 2, .groups = 2, .chosen_groups = 1});
      std::ranges::fill(routed.scores.row(1), broken);
      route(routed.params, Share{});
      EXPECT_EQ(routed.expert_of[2], 0);
      EXPECT_EQ(routed.expert_of[3], 1);
      expect_sorted(routed);
    }
  }
}

// The wanted numbers are those of transformers' sparsemixer for these scores and a jitter of 0.01,
// in evaluation.
TEST(ExpertsTest, WeighTheBestAmongThoseThatAreClose) {
  Random random(8);
  Routed routed(Table(3, 4, random),
                {.kind = RouterKind::kSoftmaxOfClose, .chosen = 2, .margin = 0.02F});
  const std::vector<std::vector<float>> scores = {
      {1.0F, 0.99F, 0.5F, 0.985F}, {-1.0F, -1.01F, -3.0F, -1.015F}, {2.0F, 0.0F, -2.0F, 1.0F}};
  for (std::size_t t = 0; t < scores.size(); ++t) {
    std::ranges::copy(scores[t], routed.scores.row(static_cast<std::int64_t>(t)).begin());
  }
  route(routed.params, Share{});
  EXPECT_EQ(routed.expert_of, (std::vector<std::int32_t>{0, 1, 0, 1, 0, 3}));
  const std::vector<float> wanted = {0.336116165F, 0.501249969F, 0.336116165F,
                                     0.501249969F, 1.0F,         1.0F};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(routed.weight_of[i], wanted[i], 1e-6F) << i;
  }
  expect_sorted(routed);
}

TEST(ExpertsTest, ChooseNaNLast) {
  Random random(5);
  Routed routed(Table(1, 4, random), {.kind = RouterKind::kSigmoid, .chosen = 4});
  std::ranges::copy(std::vector<float>{kNaN, -50, 3, kNaN}, routed.scores.row(0).begin());
  route(routed.params, Share{});
  EXPECT_EQ(routed.expert_of, (std::vector<std::int32_t>{2, 1, 0, 3}));
}

TEST(ExpertsTest, KeepWeightsOfZeroWhenAllUnderflow) {
  Random random(6);
  Routed routed(Table(1, 4, random, -500, -400),
                {.kind = RouterKind::kSigmoid, .chosen = 2, .normalize = true});
  route(routed.params, Share{});
  EXPECT_EQ(routed.weight_of, (std::vector<float>{0, 0}));
}

TEST(ExpertsTest, CombineTheOutputsOfThoseThatAreHereAlone) {
  constexpr std::int64_t kTokens = 9;
  constexpr std::int64_t kWidth = 37;
  constexpr ExpertRun kHere{.first = 2, .count = 3};
  Random random(9);
  Routed routed(Table(kTokens, 6, random), {.chosen = 3});
  route(routed.params, Share{});
  const auto sorted = test::sort_choices(routed.expert_of, 6, 3);
  Table in(kTokens * 3, kWidth, random);
  for (std::size_t choice = 0; choice < routed.expert_of.size(); ++choice) {
    if (!kHere.has(routed.expert_of[choice])) {
      std::ranges::fill(in.row(sorted.place_of[choice]), kNaN);
    }
  }
  std::vector<std::int32_t> place_of = sorted.place_of;
  Table out(kTokens, kWidth, random);
  combine({.in = in.rows(),
           .chosen = 3,
           .weight_of = routed.weight_of,
           .expert_of = routed.expert_of,
           .experts = kHere,
           .order = routed.order,
           .place_of = place_of,
           .out = out.rows()},
          Share{});
  for (std::int64_t t = 0; t < kTokens; ++t) {
    std::vector<double> want(kWidth, 0.0);
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] = test::combine_reference(t, 3, routed.weight_of.data(), sorted.place_of.data(),
                                        [&](std::int32_t place) {
                                          const float number = in.row(place)[i];
                                          return std::isnan(number) ? 0.0F : number;
                                        });
    }
    EXPECT_TRUE(is_close(out.row(t), want, 1e-6)) << "token " << t;
  }
}

TEST(ExpertsTest, CombineTheirOutputsForEachToken) {
  constexpr std::int64_t kTokens = 5;
  constexpr std::int64_t kWidth = 37;
  Random random(7);
  Routed routed(Table(kTokens, 6, random), {.chosen = 3});
  route(routed.params, Share{});
  Table in(kTokens * 3, kWidth, random);
  Table residual(kTokens, kWidth, random);
  const auto sorted = test::sort_choices(routed.expert_of, 6, 3);
  std::vector<std::int32_t> place_of(kTokens * 3, -1);
  for (int form = 0; form < 3; ++form) {  // without a residual, with one, and with out itself
    Table out(kTokens, kWidth, random);
    CombineParams params{.in = in.rows(),
                         .chosen = 3,
                         .weight_of = routed.weight_of,
                         .order = routed.order,
                         .place_of = place_of,
                         .out = out.rows()};
    if (form == 1) params.residual = residual.rows();
    if (form == 2) params.residual = out.rows();
    std::vector<std::vector<double>> want;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      std::vector<double> row(kWidth, 0.0);
      if (form > 0) std::ranges::copy(form == 1 ? residual.row(t) : out.row(t), row.begin());
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] += test::combine_reference(t, 3, routed.weight_of.data(), sorted.place_of.data(),
                                          [&](std::int32_t place) { return in.row(place)[i]; });
      }
      want.push_back(row);
    }
    in_parts(3, [&](Share share) { invert_order(params, share); });
    in_parts(3, [&](Share share) { combine(params, share); });
    for (std::int64_t t = 0; t < kTokens; ++t) {
      EXPECT_TRUE(is_close(out.row(t), want[static_cast<std::size_t>(t)], 1e-6)) << "token " << t;
    }
    EXPECT_TRUE(out.is_untouched_between_rows());
  }
}

TEST(ExpertsTest, NoticeParametersThatDoNotFit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Random random(8);
  Routed many(Table(1, kMaxExperts + 1, random), {});
  WEFT_EXPECT_BUG(route(many.params, Share{}), "the number of experts");
  Routed groups(Table(1, 6, random), {.chosen = 3, .groups = 3, .chosen_groups = 1});
  WEFT_EXPECT_BUG(route(groups.params, Share{}), "route: chosen");
  Routed places(Table(2, 6, random), {.chosen = 3});
  places.params.order = std::span(places.order).first(5);
  WEFT_EXPECT_BUG(route(places.params, Share{}), "too few places");
}

}  // namespace
}  // namespace weft
