#include "weft/train/step/dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/train/gradients.h"
#include "weft/tests/train/job_case.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/data/adapter_writer.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

using test::job_of;
using test::numbers_of;
using test::TrainingCase;
using testing::HasSubstr;

/// What is kept of `rows` rows of ones.
std::vector<float> kept(const Dropout& dropout, std::uint64_t site, std::int64_t rows,
                        Share share = {}) {
  constexpr std::int64_t kWidth = 500;
  const std::vector<float> ones(static_cast<std::size_t>(rows * kWidth), 1);
  std::vector<float> out(ones.size(), -1);
  drop({dropout, site, {ones.data(), rows, kWidth, kWidth}, {out.data(), rows, kWidth, kWidth}},
       share);
  return out;
}

TEST(DropoutTest, DropsItsPartAndScalesTheRest) {
  const std::vector<float> numbers = kept({.probability = 0.25, .key = 3}, 1, 40);
  const auto zeros = std::ranges::count(numbers, 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros) / static_cast<double>(numbers.size()), 0.25, 0.02);
  EXPECT_EQ(std::ranges::count(numbers, 1 / 0.75F), std::ssize(numbers) - zeros);
}

TEST(DropoutTest, WhatIsDroppedFollowsFromKeySiteAndTokenAlone) {
  const Dropout dropout{.probability = 0.5, .key = 3, .first = 7};
  const std::vector<float> numbers = kept(dropout, 1, 4);
  EXPECT_EQ(kept(dropout, 1, 4), numbers);
  EXPECT_NE(kept(dropout, 2, 4), numbers);
  EXPECT_NE(kept({.probability = 0.5, .key = 4, .first = 7}, 1, 4), numbers);
  const std::vector<float> behind(numbers.begin() + 1000, numbers.end());
  EXPECT_EQ(kept({.probability = 0.5, .key = 3, .first = 9}, 1, 2), behind);
  const std::vector<float> first(numbers.begin(), numbers.begin() + 500);
  const std::vector<float> second(numbers.begin() + 500, numbers.begin() + 1000);
  EXPECT_NE(first, second);
}

TEST(DropoutTest, AddsToWhatIsThere) {
  const Dropout dropout{.probability = 0.5, .key = 3};
  const std::vector<float> in = {1, 2, 3, 4, 5, 6};
  std::vector<float> alone(6);
  std::vector<float> added(6, 10);
  drop({dropout, 1, {in.data(), 2, 3, 3}, {alone.data(), 2, 3, 3}}, {});
  drop({dropout, 1, {in.data(), 2, 3, 3}, {added.data(), 2, 3, 3}, true}, {});
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(added[i], 10 + alone[i]);
}

TEST(DropoutTest, TheGradientIsTheSlopeOfTheLossWithWhatIsDropped) {
  for (const char* golden : {"llama", "gpt2", "phi3"}) {
    const OpenedModel opened = open_model(test::committed_golden(golden)).value();
    TrainingProgram training =
        make_training_program(*opened.architecture, *opened.checkpoint).value();
    LowRankPairs pairs = test::random_pairs(training, *opened.architecture);
    pairs.dropout = 0.3;
    TrainedModel model = TrainedModel::load(opened, std::move(training), std::move(pairs),
                                            {.threads = 1, .tokens = 17})
                             .value();
    GradientStep step(model);
    MicroBatch batch = test::random_batch(model.program().vocabulary);
    batch.dropout_key = 5;
    const double weight = test::weight_of(batch);
    const double loss = step.accumulate(batch, 1 / weight);
    EXPECT_NE(loss, step.loss(batch)) << golden;  // which drops nothing
    const LowRankPairs before = model.pairs();
    const double norm = test::gradient_norm(before);
    const double distance = 5e-3 / std::max(1.0, norm);
    test::move(model.pairs(), before, distance);
    const double above = step.accumulate(batch, 1) / weight;
    model.pairs() = before;
    test::move(model.pairs(), before, -distance);
    const double below = step.accumulate(batch, 1) / weight;
    EXPECT_GT(norm, 1e-3) << golden;
    EXPECT_NEAR((above - below) / (2 * distance), norm, 0.02 * norm) << golden;
  }
}

TEST(DropoutTest, AJobDropsTheSameOnAnyThreadsBehindARestoreAndBehindAnAbandonedStep) {
  const TrainingCase golden("llama");
  const test::TempFolder folder;
  TuningJob whole = job_of(golden, {.dropout = 0.2});
  TuningJob before = job_of(golden, {.threads = 3, .dropout = 0.2});
  for (int i = 0; i < 3; ++i) (void)before.step().value();
  ASSERT_TRUE(before.save(folder.path() / "state"));
  TuningJob behind = job_of(golden, {.dropout = 0.2});
  ASSERT_TRUE(behind.restore(folder.path() / "state"));
  for (int i = 0; i < 5; ++i) (void)behind.run_piece().value();
  behind.abandon_micro_batch();
  while (!whole.is_done()) (void)whole.step().value();
  while (!behind.is_done()) (void)behind.step().value();
  EXPECT_EQ(numbers_of(whole), numbers_of(behind));
  TuningJob plain = job_of(golden);
  while (!plain.is_done()) (void)plain.step().value();
  EXPECT_NE(numbers_of(whole), numbers_of(plain));
  EXPECT_FALSE(plain.restore(folder.path() / "state"));
}

TEST(DropoutTest, TheAdapterNamesIt) {
  const test::TempFolder folder;
  const TuningJob job = job_of(TrainingCase("llama"), {.dropout = 0.125});
  ASSERT_TRUE(write_peft_adapter(folder.path(), job.pairs(), "base"));
  EXPECT_THAT(read_text_file(folder.path() / "adapter_config.json", kAnySize).value(),
              HasSubstr(R"("lora_dropout":1.25E-1)"));
}

TEST(DropoutTest, APartOfOneOrMoreIsRefused) {
  const OpenedModel opened = open_model(test::committed_golden("llama")).value();
  for (const double dropout : {1.0, -0.1, std::nan("")}) {
    TrainingProgram training =
        make_training_program(*opened.architecture, *opened.checkpoint).value();
    LowRankPairs pairs = test::random_pairs(training, *opened.architecture);
    pairs.dropout = dropout;
    const auto model = TrainedModel::load(opened, std::move(training), std::move(pairs),
                                          {.threads = 1, .tokens = 17});
    ASSERT_FALSE(model) << dropout;
    EXPECT_EQ(model.error().code, TrainErrc::kBadSetting);
    EXPECT_THAT(model.error().detail, HasSubstr("dropout: "));
  }
}

}  // namespace
}  // namespace weft
