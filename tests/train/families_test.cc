// Every golden model is trained or refused by its block's name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "weft/model/open_model.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/train/gradients.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

constexpr std::int64_t kTokens = 17;  // as many as the shortest context

class TrainedFamilyTest : public testing::TestWithParam<std::filesystem::path> {};
INSTANTIATE_TEST_SUITE_P(, TrainedFamilyTest, testing::ValuesIn(test::committed_goldens()),
                         [](const auto& each) { return test::test_name(each.param); });

TEST_P(TrainedFamilyTest, ItsGradientIsTheSlopeOfItsLossOrItsBlockIsNamed) {
  const OpenedModel opened = open_model(GetParam(), {}, "").value();
  auto training = make_training_program(*opened.architecture, *opened.checkpoint);
  if (!training) {
    EXPECT_EQ(training.error().code, TrainErrc::kCannotTrain);
    EXPECT_THAT(training.error().detail, testing::ContainsRegex("^[a-z0-9_.]+: .*"));
    return;
  }
  LowRankPairs pairs = test::random_pairs(*training, *opened.architecture);
  TrainedModel model = TrainedModel::load(opened, *std::move(training), std::move(pairs),
                                          {.threads = 1, .tokens = kTokens})
                           .value();
  GradientStep step(model);
  const MicroBatch batch = test::random_batch(model.program().vocabulary);
  const double weight = test::weight_of(batch);
  (void)step.accumulate(batch, 1 / weight);
  const LowRankPairs before = model.pairs();
  const double norm = test::gradient_norm(before);
  // A steep loss bends soon.
  const double distance = 5e-3 / std::max(1.0, norm);
  test::move(model.pairs(), before, distance);
  const double above = step.loss(batch) / weight;
  model.pairs() = before;
  test::move(model.pairs(), before, -distance);
  const double below = step.loss(batch) / weight;
  EXPECT_GT(norm, 1e-3);
  EXPECT_NEAR((above - below) / (2 * distance), norm, 0.02 * norm);
}

}  // namespace
}  // namespace weft
