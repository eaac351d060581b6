#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "weft/tests/train/gradients.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/step/optimizer.h"

namespace weft {
namespace {

using test::difference;
using test::gradients_of;
using test::TrainingCase;
using test::worst_difference;

class TrainingTest : public testing::TestWithParam<const char*> {
 protected:
  const TrainingCase case_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, TrainingTest,
                         testing::Values("llama", "qwen2", "qwen3", "gemma2", "phi", "gpt2", "phi3",
                                         "gpt_neox", "demo"));

TEST_P(TrainingTest, GivesTheLossAndTheGradientsOfPeft) {
  TrainedModel model = case_.load();
  GradientStep step(model);
  const MicroBatch batch = case_.batch_of(0);
  const double weight = test::weight_of(batch);
  EXPECT_NEAR(step.accumulate(batch, 1 / weight) / weight, case_.numbers("first_loss")[0], 1e-4);
  EXPECT_FALSE(model.pairs().pairs.empty());
  for (const LowRankPair& pair : model.pairs().pairs) {
    const std::string name = "gradient.base_model.model." + pair.module;
    EXPECT_LE(difference(pair.a_gradient, case_.numbers(name + ".lora_A.weight")), 1e-4) << name;
    EXPECT_LE(difference(pair.b_gradient, case_.numbers(name + ".lora_B.weight")), 1e-4) << name;
  }
}

TEST_P(TrainingTest, FollowsTheLossOfPeftOverAHundredSteps) {
  TrainedModel model = case_.load();
  GradientStep step(model);
  const std::vector<float> losses = case_.numbers("losses");
#ifdef WEFT_SANITIZED
  constexpr std::size_t kSteps = 12;  // the demo model takes a second for each
#else
  constexpr std::size_t kSteps = 100;
#endif
  ASSERT_EQ(losses.size(), 100U);
  Optimizer optimizer({.rate = case_.numbers("rate")[0],
                       .warmup = 10,
                       .steps = static_cast<std::int64_t>(losses.size())},
                      model.pairs());
  for (std::size_t i = 0; i < kSteps; ++i) {
    const MicroBatch batch = case_.batch_of(static_cast<int>(i));
    const double weight = test::weight_of(batch);
    ASSERT_NEAR(step.accumulate(batch, 1 / weight) / weight, losses[i], 1e-3) << "step " << i;
    ASSERT_TRUE(optimizer.step(model.pairs())) << "step " << i;
  }
}

TEST_P(TrainingTest, PackedSequencesDoNotSeeEachOtherAndMicroBatchesAddUp) {
  TrainedModel together = case_.load();
  TrainedModel apart = case_.load();
  MicroBatch first;
  MicroBatch second;
  test::append(first, case_.ids(0), 3);
  test::append(second, case_.ids(1), 3);
  EXPECT_LE(worst_difference(gradients_of(together, {case_.batch_of(0)}),
                             gradients_of(apart, {first, second})),
            1e-5);
}

TEST_P(TrainingTest, TheNumberOfThreadsChangesNoBit) {
  TrainedModel alone = case_.load(1);
  TrainedModel shared = case_.load(3);
  const auto one = gradients_of(alone, {case_.batch_of(0)});
  const auto three = gradients_of(shared, {case_.batch_of(0)});
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].a_gradient, three[i].a_gradient) << one[i].tensor;
    EXPECT_EQ(one[i].b_gradient, three[i].b_gradient) << one[i].tensor;
  }
}

}  // namespace
}  // namespace weft
