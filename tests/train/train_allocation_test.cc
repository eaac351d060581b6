// A program of its own, because it counts allocations.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "weft/tests/fixture/allocation_count.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/train/gradients.h"
#include "weft/tests/train/training_case.h"

namespace weft {
namespace {

/// How often a micro-batch takes memory once there was one like it.
std::size_t allocations_of(TrainedModel& model, const MicroBatch& batch) {
  GradientStep step(model);
  (void)step.accumulate(batch, 1);
  const std::size_t before = test::allocations_of_this_thread();
  (void)step.accumulate(batch, 1);
  return test::allocations_of_this_thread() - before;
}

TEST(TrainAllocationTest, AMicroBatchLikeTheOneBeforeTakesNoMemory) {
  for (const char* name : {"llama", "qwen3", "gemma2", "phi", "gpt2"}) {
    const test::TrainingCase golden(name);
    TrainedModel model = golden.load(golden.open(), 1, 0.1);
    EXPECT_EQ(allocations_of(model, golden.batch_of(0)), 0U) << name;
  }
}

TEST(TrainAllocationTest, NorDoesOneOverAnEncodedBase) {
  for (const char* name : {"fp8-blocks", "gptq4-order", "nf4"}) {
    const OpenedModel opened =
        open_model(test::source_path(std::string("tests/model/data/quantized/") + name)).value();
    TrainingProgram training =
        make_training_program(*opened.architecture, *opened.checkpoint).value();
    LowRankPairs pairs = test::random_pairs(training, *opened.architecture);
    TrainedModel model = TrainedModel::load(opened, std::move(training), std::move(pairs),
                                            {.threads = 1, .tokens = 17})
                             .value();
    const MicroBatch batch = test::random_batch(model.program().vocabulary);
    EXPECT_EQ(allocations_of(model, batch), 0U) << name;
  }
}

}  // namespace
}  // namespace weft
