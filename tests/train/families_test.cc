// Every golden model is trained or refused by its block's name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/model/open_model.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/random_numbers.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

constexpr std::int64_t kTokens = 17;  // as many as the shortest context

class TrainedFamilyTest : public testing::TestWithParam<std::filesystem::path> {};
INSTANTIATE_TEST_SUITE_P(, TrainedFamilyTest, testing::ValuesIn(test::committed_goldens()),
                         [](const auto& each) { return test::test_name(each.param); });

PairSettings all_roles() {
  PairSettings settings{.rank = 2, .alpha = 3, .roles = {}, .seed = 1};
  for (const char* name : {"q", "k", "v", "o", "gate", "up", "down"})
    settings.roles.insert(target_role(name).value());
  return settings;
}

/// Sequences of 3 and 14 tokens: the second reaches windows (6) and the long set of LongRoPE (12).
MicroBatch random_batch(std::int64_t vocabulary) {
  RandomNumbers random(3);
  MicroBatch batch;
  for (const std::size_t count : {std::size_t{3}, std::size_t{14}}) {
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids)
      id = static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocabulary)));
    test::append(batch, ids, 1);
  }
  return batch;
}

double gradient_norm(const LowRankPairs& pairs) {
  double squares = 0;
  for (const LowRankPair& pair : pairs.pairs) {
    for (const float number : pair.a_gradient) squares += double{number} * number;
    for (const float number : pair.b_gradient) squares += double{number} * number;
  }
  return std::sqrt(squares);
}

/// Moves all pairs along a copy's gradients.
void move(LowRankPairs& pairs, const LowRankPairs& along, double distance) {
  const auto factor = static_cast<float>(distance / gradient_norm(along));
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
    LowRankPair& pair = pairs.pairs[i];
    for (std::size_t k = 0; k < pair.a.size(); ++k)
      pair.a[k] += factor * along.pairs[i].a_gradient[k];
    for (std::size_t k = 0; k < pair.b.size(); ++k)
      pair.b[k] += factor * along.pairs[i].b_gradient[k];
  }
}

TEST_P(TrainedFamilyTest, ItsGradientIsTheSlopeOfItsLossOrItsBlockIsNamed) {
  const OpenedModel opened = open_model(GetParam(), {}, "").value();
  auto training = make_training_program(*opened.architecture, *opened.checkpoint);
  if (!training) {
    EXPECT_EQ(training.error().code, TrainErrc::kCannotTrain);
    EXPECT_THAT(training.error().detail, testing::ContainsRegex("^[a-z0-9_.]+: .*"));
    return;
  }
  auto made = make_pairs(*training, *opened.architecture, all_roles());
  ASSERT_TRUE(made) << made.error().detail;
  RandomNumbers random(2);
  for (LowRankPair& pair : made->pairs) {
    for (float& number : pair.b) number = 0.6F * (random.uniform() - 0.5F);
  }
  TrainedModel model = TrainedModel::load(opened, *std::move(training), *std::move(made),
                                          {.threads = 1, .tokens = kTokens})
                           .value();
  GradientStep step(model);
  const MicroBatch batch = random_batch(model.program().vocabulary);
  const double weight = test::weight_of(batch);
  (void)step.accumulate(batch, 1 / weight);
  const LowRankPairs before = model.pairs();
  const double norm = gradient_norm(before);
  // A steep loss bends soon.
  const double distance = 5e-3 / std::max(1.0, norm);
  move(model.pairs(), before, distance);
  const double above = step.loss(batch) / weight;
  model.pairs() = before;
  move(model.pairs(), before, -distance);
  const double below = step.loss(batch) / weight;
  EXPECT_GT(norm, 1e-3);
  EXPECT_NEAR((above - below) / (2 * distance), norm, 0.02 * norm);
}

}  // namespace
}  // namespace weft
