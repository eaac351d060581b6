#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/byte_source.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/step/optimizer.h"

namespace weft {
namespace {

using test::TrainingCase;

/// The greatest difference, as a part of the greatest number.
double difference(const std::vector<float>& got, const std::vector<float>& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  double size = 0;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    worst = std::max(worst, std::abs(double{got[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return worst / size;
}

/// The gradients of the mean loss of some micro-batches together.
std::vector<LowRankPair> gradients_of(TrainedModel& model, const std::vector<MicroBatch>& batches) {
  double weight = 0;
  for (const MicroBatch& batch : batches) weight += test::weight_of(batch);
  GradientStep step(model);
  for (const MicroBatch& batch : batches) step.accumulate(batch, 1 / weight);
  return model.pairs().pairs;
}

double worst_difference(const std::vector<LowRankPair>& got,
                        const std::vector<LowRankPair>& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max({worst, difference(got[i].a_gradient, wanted[i].a_gradient),
                      difference(got[i].b_gradient, wanted[i].b_gradient)});
  }
  return worst;
}

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

/// The same model with its encoded tensors as float32.
OpenedModel decoded(const OpenedModel& model) {
  std::vector<CheckpointTensor> tensors(model.checkpoint->tensors().begin(),
                                        model.checkpoint->tensors().end());
  for (CheckpointTensor& tensor : tensors) {
    if (!is_encoded(tensor.dtype)) continue;
    std::vector<std::byte> blocks(tensor.size);
    tensor.read_blocks(0, blocks).value();
    const DTypeBlock block = block_of(tensor.dtype);
    const auto count = static_cast<std::int64_t>(tensor.size) / block.bytes;
    std::vector<float> numbers(static_cast<std::size_t>(count * block.elements));
    decode_blocks({tensor.dtype, blocks.data(), count}, numbers.data());
    const auto bytes = std::as_bytes(std::span(numbers));
    tensor.dtype = DType::kF32;
    tensor.size = bytes.size();
    tensor.offset = 0;
    tensor.source = std::make_shared<MemorySource>(
        "decoded", std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  OpenedModel plain = model;
  plain.checkpoint =
      std::make_shared<Checkpoint>(model.checkpoint->with_tensors(std::move(tensors)).value());
  plain.program =
      std::make_shared<Program>(compile(*model.architecture, *plain.checkpoint).value());
  return plain;
}

TEST(EncodedTrainingTest, AnEncodedBaseGivesTheGradientsOfItsDecodedBase) {
  const TrainingCase demo("demo");
  for (const char* type : {"q4_0", "q8_0"}) {
    TrainedModel encoded = demo.load(1, type);
    TrainedModel plain = demo.load(decoded(demo.open(type)));
    ASSERT_TRUE(is_encoded(encoded.weights().matrix(0).dtype())) << type;
    EXPECT_LE(worst_difference(gradients_of(encoded, {demo.batch_of(0)}),
                               gradients_of(plain, {demo.batch_of(0)})),
              1e-4)
        << type;
  }
}

}  // namespace
}  // namespace weft
