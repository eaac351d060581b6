#include "weft/schedule/step/step_time_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// A device whose steps take a fixed time, and some more for each token.
struct Device {
  double fixed_us = 2000;
  double decode_us = 15;
  double prefill_us = 40;
  double context_us = 0.02;
  double guess_us = 100;

  [[nodiscard]] double exact_us(const StepShape& shape) const {
    return fixed_us + decode_us * shape.decode_tokens + prefill_us * shape.prefill_tokens +
           context_us * static_cast<double>(shape.context_tokens) + guess_us * shape.guess_tokens;
  }
  [[nodiscard]] Duration takes(const StepShape& shape, double factor = 1) const {
    return Duration(std::llround(1000 * factor * exact_us(shape)));
  }
};

class Steps {
 public:
  explicit Steps(unsigned seed) : random_(seed) {}

  StepShape any() {
    const auto decodes = static_cast<std::int32_t>(random_() % 128);
    const auto prefill = random_() % 3 == 0 ? 0 : static_cast<std::int32_t>(random_() % 512);
    return {decodes, prefill, decodes * static_cast<std::int64_t>(random_() % 1000) + prefill};
  }
  /// The factor between a measured time and the exact one: normal, 10 %.
  double noise() { return std::max(0.5, 1 + 0.1 * normal_(random_)); }
  bool once_in(unsigned steps) { return random_() % steps == 0; }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

/// Returns the worst relative error of predictions over steps that were not learnt from.
double worst_error(const StepTimeModel& model, const Device& device) {
  Steps fresh(999);
  double worst = 0;
  for (int i = 0; i < 500; ++i) {
    const StepShape shape = fresh.any();
    const double exact = 1000 * device.exact_us(shape);
    const auto predicted = static_cast<double>(model.predict(shape).count());
    worst = std::max(worst, std::abs(predicted - exact) / exact);
  }
  return worst;
}

void learn_noisy(StepTimeModel& model, const Device& device, Steps& steps, int count) {
  for (int i = 0; i < count; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, device.takes(shape, steps.noise()));
  }
}

TEST(StepTimeModel, KnowsNothingAtFirstAndStartsSmall) {
  const StepTimeModel model;
  EXPECT_EQ(model.predict({.decode_tokens = 5, .prefill_tokens = 9, .context_tokens = 70}),
            Duration::zero());
  EXPECT_EQ(model.prefill_tokens_within(milliseconds(20), {}, 4096),
            StepTimeModel::kStartPrefillTokens);
  EXPECT_EQ(model.prefill_tokens_within(milliseconds(20), {}, 7), 7);
}

TEST(StepTimeModel, LearnsALinearCostWhereNothingDisturbsItToWithinOnePercent) {
  StepTimeModel model;
  Steps steps(1);
  const Device device;
  for (int i = 0; i < 100; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, device.takes(shape));
  }
  EXPECT_LT(worst_error(model, device), 0.01);
}

TEST(StepTimeModel, LearnsALinearCostWithTenPercentNoiseToWithinEightPercent) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    StepTimeModel model;
    Steps steps(seed);
    learn_noisy(model, Device{}, steps, 500);
    EXPECT_LT(worst_error(model, Device{}), 0.08) << seed;
  }
}

TEST(StepTimeModel, LearnsWhateverTheUnitOfTheDeviceIs) {
  for (const double speed : {0.001, 1.0, 1000.0}) {
    StepTimeModel model;
    Steps steps(4);
    const Device device{2000 * speed, 15 * speed, 40 * speed, 0.02 * speed};
    learn_noisy(model, device, steps, 500);
    EXPECT_LT(worst_error(model, device), 0.08) << speed;
  }
}

TEST(StepTimeModel, ForgetsAnOldSpeedWithinTheStatedSteps) {
  for (const double factor : {0.5, 2.0}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      StepTimeModel model;
      Steps steps(seed);
      const Device before;
      const Device after{factor * before.fixed_us, factor * before.decode_us,
                         factor * before.prefill_us, factor * before.context_us};
      learn_noisy(model, before, steps, 2000);
      EXPECT_GT(worst_error(model, after), 0.4);
      learn_noisy(model, after, steps, StepTimeModel::kStepsToForget);
      EXPECT_LT(worst_error(model, after), 0.15) << factor << ' ' << seed;
    }
  }
}

TEST(StepTimeModel, ForgetsAnOldSpeedOfAQuietDeviceWithinTheStatedSteps) {
  StepTimeModel model;
  Steps steps(6);
  const Device before;
  const Device after{4000, 30, 80, 0.04};
  for (int i = 0; i < 2000; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, before.takes(shape));
  }
  for (int i = 0; i < StepTimeModel::kStepsToForget; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, after.takes(shape));
  }
  EXPECT_LT(worst_error(model, after), 0.1);
}

TEST(StepTimeModel, IsNotSpoiltByOutliers) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    StepTimeModel model;
    Steps steps(seed);
    for (int i = 0; i < 1000; ++i) {
      const StepShape shape = steps.any();
      model.learn(shape, Device{}.takes(shape, steps.once_in(50) ? 20 : steps.noise()));
    }
    EXPECT_LT(worst_error(model, Device{}), 0.1) << seed;
  }
}

TEST(StepTimeModel, KnowsOutliersOfAQuietDeviceByItsOwnNoise) {
  StepTimeModel model;
  Steps steps(21);
  for (int i = 0; i < 1000; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, Device{}.takes(shape, steps.once_in(20) ? 3 : 1));
  }
  EXPECT_LT(worst_error(model, Device{}), 0.02);
}

TEST(StepTimeModel, IsMovedByOneOutlierByAFewPercentAtMost) {
  StepTimeModel model;
  Steps steps(3);
  learn_noisy(model, Device{}, steps, 500);
  const StepShape shape{.decode_tokens = 64, .prefill_tokens = 128, .context_tokens = 20000};
  const auto before = static_cast<double>(model.predict(shape).count());
  model.learn(shape, std::chrono::seconds(100));
  EXPECT_LT(static_cast<double>(model.predict(shape).count()), 1.03 * before);
}

TEST(StepTimeModel, RecoversFromAFirstStepThatWarmedUp) {
  StepTimeModel model;
  Steps steps(8);
  model.learn({.decode_tokens = 1, .prefill_tokens = 0, .context_tokens = 1},
              std::chrono::seconds(3));
  learn_noisy(model, Device{}, steps, 300);
  EXPECT_LT(worst_error(model, Device{}), 0.1);
}

TEST(StepTimeModel, RemembersWhatPrefillCostsThroughHoursOfDecoding) {
  StepTimeModel model;
  Steps steps(5);
  const Device device;
  learn_noisy(model, device, steps, 1000);
  const StepShape decodes{.decode_tokens = 100, .prefill_tokens = 0, .context_tokens = 50000};
  StepShape prefill = decodes;
  prefill.prefill_tokens = 300;
  const auto added = [&] {
    return static_cast<double>((model.predict(prefill) - model.predict(decodes)).count());
  };
  const double before = added();
  for (int i = 0; i < 500000; ++i) model.learn(decodes, device.takes(decodes, steps.noise()));
  EXPECT_NEAR(added() / before, 1, 0.01);
  const auto exact = static_cast<double>(device.takes(prefill).count());
  EXPECT_NEAR(static_cast<double>(model.predict(prefill).count()) / exact, 1, 0.1);
}

TEST(StepTimeModel, NeverPredictsThatMoreWorkTakesLess) {
  // Decode tokens cost nothing here and context goes with them, so a free fit is often negative.
  StepTimeModel model;
  Steps steps(12);
  const Device device{50, 0, 40, 0.0};
  for (int i = 0; i < 2000; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, device.takes(shape, steps.noise()));
    const Duration base = model.predict(shape);
    ASSERT_GE(model.predict({}), Duration::zero());
    for (const auto field : {&StepShape::decode_tokens, &StepShape::prefill_tokens}) {
      StepShape more = shape;
      more.*field += 1000;
      ASSERT_GE(model.predict(more), base);
    }
    StepShape more = shape;
    more.context_tokens += 100000;
    ASSERT_GE(model.predict(more), base);
  }
  EXPECT_LT(worst_error(model, device), 0.15);
}

TEST(StepTimeModel, FillsTheTargetWithPrefill) {
  StepTimeModel model;
  Steps steps(2);
  const Device device;
  learn_noisy(model, device, steps, 1000);
  const StepShape decodes{.decode_tokens = 64, .prefill_tokens = 0, .context_tokens = 30000};
  const std::int32_t tokens = model.prefill_tokens_within(milliseconds(15), decodes, 4096);
  const StepShape with{64, tokens, 30000 + tokens};
  EXPECT_NEAR(device.exact_us(with), 15000, 0.08 * 15000);
  EXPECT_LE(model.predict(with), milliseconds(15) + microseconds(1));
  EXPECT_GT(model.predict({64, tokens + 1, 30000 + tokens + 1}), milliseconds(15));
  EXPECT_EQ(model.prefill_tokens_within(milliseconds(15), decodes, 50), 50);
}

TEST(StepTimeModel, AChunkAttendsToTheWindowBeforeItAndToItself) {
  EXPECT_EQ(attended_tokens(0, 0, 7), 7);
  EXPECT_EQ(attended_tokens(0, 1000, 7), 1007);
  EXPECT_EQ(attended_tokens(16, 15, 7), 22);
  EXPECT_EQ(attended_tokens(16, 16, 7), 22) << "its first token sees 15 before it";
  EXPECT_EQ(attended_tokens(16, 1000, 1), 16);
  EXPECT_EQ(attended_tokens(1, 1000, 3), 3);
}

TEST(StepTimeModel, CountsTheContextThatPrefillAdds) {
  StepTimeModel model;
  Steps steps(2);
  const Device device{2000, 15, 10, 10};
  for (int i = 0; i < 1000; ++i) {
    const StepShape shape = steps.any();
    model.learn(shape, device.takes(shape));
  }
  EXPECT_NEAR(model.prefill_tokens_within(milliseconds(10), {}, 4096), 400, 5)
      << "(10 ms - 2 ms) / 20 us";
}

TEST(StepTimeModel, GivesPrefillNoRoomWhereTheTargetIsReachedWithoutIt) {
  StepTimeModel model;
  Steps steps(2);
  learn_noisy(model, Device{}, steps, 200);
  EXPECT_EQ(model.prefill_tokens_within(milliseconds(1), {.decode_tokens = 64}, 4096), 0);
  EXPECT_EQ(model.prefill_tokens_within(milliseconds(-1), {}, 4096), 0);
}

TEST(StepTimeModel, GrowsChunksStepByStepBecauseSmallOnesSayLittleAboutLargeOnes) {
  StepTimeModel model;
  const Device device;
  std::int32_t expected = StepTimeModel::kStartPrefillTokens;
  for (std::size_t step = 0; step < 14; ++step) {
    const std::int32_t tokens = model.prefill_tokens_within(std::chrono::hours(1), {}, 1 << 20);
    if (step > 0) expected *= 2;
    ASSERT_EQ(tokens, expected) << step;
    const StepShape shape{.decode_tokens = 0, .prefill_tokens = tokens, .context_tokens = tokens};
    model.learn(shape, device.takes(shape));
  }
}

TEST(StepTimeModel, KeepsToTheTargetFromTheSecondStepOn) {
  for (const double fixed_us : {0.0, 100.0, 400.0}) {
    StepTimeModel model;
    const Device device{fixed_us, 0, 20, 0};
    const StepShape first{.prefill_tokens = StepTimeModel::kStartPrefillTokens};
    model.learn(first, device.takes(first));
    for (std::size_t step = 1; step < 3 * StepTimeModel::kPrefillStepsToLearn; ++step) {
      const std::int32_t tokens = model.prefill_tokens_within(milliseconds(1), {}, 4096);
      ASSERT_GT(tokens, 0) << step;
      const StepShape shape{.prefill_tokens = tokens};
      ASSERT_LE(device.exact_us(shape), 1.1 * 1000) << step << " of " << fixed_us;
      model.learn(shape, device.takes(shape));
    }
  }
}

TEST(StepTimeModel, LearnsWhatAGuessAddsFromTheStepsThatHaveSome) {
  const StepShape decodes{.decode_tokens = 4, .context_tokens = 400};
  for (const double guess_us : {1.0, 100.0, 800.0}) {
    StepTimeModel model;
    Steps steps(11);
    const Device device{.guess_us = guess_us};
    learn_noisy(model, device, steps, 300);
    const GuessTimes before = model.guess_times(decodes);
    EXPECT_DOUBLE_EQ(before.guess, before.step / 4) << "as a decode token";
    for (int i = 0; i < 200; ++i) {
      StepShape shape = decodes;
      shape.guess_tokens = i % 3 == 0 ? 1 + i % 8 : 0;
      shape.context_tokens += i + shape.guess_tokens;
      model.learn(shape, device.takes(shape, steps.noise()));
    }
    const GuessTimes times = model.guess_times(decodes);
    EXPECT_NEAR(times.step, 1000 * device.exact_us(decodes), 1000 * 0.1 * 2100);
    EXPECT_NEAR(times.guess, 1000 * guess_us, 1000 * (20 + 0.1 * guess_us));
    for (int i = 0; i < 5000; ++i) model.learn(decodes, device.takes(decodes, steps.noise()));
    EXPECT_NEAR(model.guess_times(decodes).guess, 1000 * guess_us, 1000 * (40 + 0.2 * guess_us))
        << "and remembers it";
  }
}

TEST(StepTimeModel, IgnoresStepsThatTookNoTime) {
  StepTimeModel model;
  model.learn({.decode_tokens = 1}, Duration::zero());
  model.learn({.decode_tokens = 1}, Duration(-5));
  EXPECT_EQ(model.predict({.decode_tokens = 1}), Duration::zero()) << "it has learnt from them";
}

TEST(StepTimeModel, StaysFiniteWithTheLargestSteps) {
  StepTimeModel model;
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const StepShape large{kMost, kMost, std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < 100; ++i) {
    model.learn(i % 2 == 0 ? large : StepShape{}, i % 3 == 0 ? Duration::max() : Duration(1));
    ASSERT_GE(model.predict(large), Duration::zero());
    const auto tokens = model.prefill_tokens_within(Duration::max(), large, kMost);
    ASSERT_TRUE(tokens >= 0 && tokens <= kMost);
  }
}

}  // namespace
}  // namespace weft
