#include "weft/measure/engine/engine_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/forwarding_device.h"
#include "weft/measure/measure_error.h"
#include "weft/tests/measure/engine/tiny_model.h"

namespace weft::measure {
namespace {

using test::tiny_model;

Config small_config() {
  Config config;
  config.threads = 1;
  config.max_rows = 8;
  return config;
}

/// All at the beginning, of lengths that differ.
Load at_once(std::size_t requests, std::int32_t at_once = 0) {
  Load load{{}, at_once};
  for (std::size_t i = 0; i < requests; ++i) {
    const auto number = static_cast<std::int32_t>(i);
    load.arrivals.push_back({0, 5 + 7 * number, 3 + 5 * number});
  }
  return load;
}

std::int64_t outputs_of(const Load& load) {
  std::int64_t tokens = 0;
  for (const Arrival& one : load.arrivals) tokens += one.output;
  return tokens;
}

std::int32_t most_sequences(const EngineRun& run) {
  std::int32_t most = 0;
  for (const StepRecord& step : run.steps) most = std::max(most, step.sequences());
  return most;
}

/// Tells when so many steps have begun.
class CountingDevice final : public ForwardingDevice {
 public:
  CountingDevice(std::shared_ptr<StepDevice> device, int steps, std::atomic<bool>& reached)
      : ForwardingDevice(std::move(device)), left_(steps), reached_(reached) {}

  void run(const Plan& plan, StepResult& result) override {
    if (--left_ == 0) reached_ = true;
    device().run(plan, result);
  }

 private:
  int left_;
  std::atomic<bool>& reached_;
};

TEST(EngineLoadTest, EachRequestGetsExactlyTheTokensItAsksFor) {
  const Load load = at_once(9);
  const EngineRun run = run_engine(tiny_model(), small_config(), load, 1).value();
  ASSERT_EQ(run.outcomes.size(), load.arrivals.size());
  for (std::size_t i = 0; i < load.arrivals.size(); ++i) {
    const Outcome& one = run.outcomes[i];
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.prompt, load.arrivals[i].prompt);
    EXPECT_EQ(one.output, load.arrivals[i].output);
    EXPECT_EQ(one.came.size(), static_cast<std::size_t>(load.arrivals[i].output));
    EXPECT_TRUE(std::ranges::is_sorted(one.came));
    EXPECT_GE(one.end, one.came.back());
  }
  EXPECT_EQ(run.devices, 1U);
  EXPECT_EQ(run.limits.rows, 8);
  EXPECT_GT(run.threads, 1U);
}

TEST(EngineLoadTest, LoadsInTurnAreToldOfAndHaveTheirOwnOutcomesAndSteps) {
  const std::vector<Load> loads = {at_once(1), at_once(6), at_once(3)};
  std::vector<std::size_t> begun;
  EngineRunOptions options;
  options.begin = [&](std::size_t load) { begun.push_back(load); };
  const auto runs = run_engine_in_turn(tiny_model(), small_config(), loads, 1, options).value();
  EXPECT_THAT(begun, testing::ElementsAre(0, 1, 2));
  ASSERT_EQ(runs.size(), loads.size());
  for (std::size_t i = 0; i < loads.size(); ++i) {
    EXPECT_EQ(runs[i].outcomes.size(), loads[i].arrivals.size());
    EXPECT_LE(most_sequences(runs[i]), std::ssize(loads[i].arrivals));
    std::int64_t continued = 0;
    for (const StepRecord& step : runs[i].steps) continued += step.decodes;
    EXPECT_EQ(continued + std::ssize(loads[i].arrivals), outputs_of(loads[i]));
    if (i > 0) {
      EXPECT_GT(runs[i].began, runs[i - 1].steps.back().ended);
    }
  }
}

TEST(EngineLoadTest, ALoadThatIsStoppedEndsThoseAfterIt) {
  std::atomic<bool> stop = false;
  EngineRunOptions options;
  options.stop = &stop;
  options.begin = [&](std::size_t load) { stop = load == 1; };
  const std::vector<Load> loads(3, at_once(2));
  const auto runs = run_engine_in_turn(tiny_model(), small_config(), loads, 1, options).value();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].outcomes.size(), 2U);
  EXPECT_TRUE(runs[1].outcomes.empty());
  EXPECT_TRUE(runs[2].outcomes.empty());
}

TEST(EngineLoadTest, TheStepsAccountForEachTokenAndLeaveTheWarmUpOut) {
  const Load load = at_once(9);
  const EngineRun run = run_engine(tiny_model(), small_config(), load, 1).value();
  std::int64_t continued = 0;
  std::int64_t prompts = 0;
  for (const StepRecord& step : run.steps) {
    EXPECT_GE(step.began, run.began);
    EXPECT_GE(step.ended, step.began);
    continued += step.decodes;
    prompts += step.prefill_tokens;
  }
  // A request's first token comes with the end of its prompt.
  EXPECT_EQ(continued + std::ssize(load.arrivals), outputs_of(load));
  std::int64_t asked = 0;
  for (const Arrival& one : load.arrivals) asked += one.prompt;
  EXPECT_EQ(prompts, asked);
  EXPECT_TRUE(std::ranges::is_sorted(run.steps, {}, &StepRecord::began));
}

TEST(EngineLoadTest, AnOpenLoadIsSentWhenItIsDueWhateverRuns) {
  const Load load{{{0, 5, 60}, {0.01, 5, 60}, {0.02, 5, 60}}, 0};
  const EngineRun run = run_engine(tiny_model(), small_config(), load, 1).value();
  ASSERT_EQ(run.outcomes.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(run.outcomes[i].began, load.arrivals[i].at, 1e-8);
    EXPECT_GE(run.outcomes[i].sent, run.outcomes[i].began);
  }
}

TEST(EngineLoadTest, ABoundedLoadHasNeverMoreUnderWay) {
  Load load{std::vector<Arrival>(7, Arrival{0, 5, 100}), 0};
  const EngineRun open = run_engine(tiny_model(), small_config(), load, 1).value();
  EXPECT_GT(most_sequences(open), 2);
  load.at_once = 2;
  const EngineRun bounded = run_engine(tiny_model(), small_config(), load, 1).value();
  EXPECT_EQ(bounded.outcomes.size(), 7U);
  EXPECT_LE(most_sequences(bounded), 2);
  for (const Outcome& one : bounded.outcomes) EXPECT_EQ(one.began, one.sent);
}

TEST(EngineLoadTest, NothingToDoIsDoneAtOnce) {
  const EngineRun run = run_engine(tiny_model(), small_config(), {}, 1).value();
  EXPECT_TRUE(run.outcomes.empty());
  EXPECT_TRUE(run.steps.empty());
  EXPECT_EQ(mean_batch(run.steps), 0);
}

TEST(EngineLoadTest, ARequestThatDoesNotFitIsRefusedWithItsNumbers) {
  const Load load{{{0, 5, 5}, {0, 200, 57}}, 0};
  const auto run = run_engine(tiny_model(), small_config(), load, 1);
  ASSERT_TRUE(run.has_error());
  EXPECT_EQ(run.error().code, MeasureErrc::kBadLoad);
  EXPECT_EQ(run.error().detail, "a request of 200 + 57 tokens does not fit a context of 256");
}

TEST(EngineLoadTest, WhatIsStoppedEndsAndWhatHasNotBegunIsLeftOut) {
  // The last would come in an hour.
  Load load{std::vector<Arrival>(12, Arrival{0, 5, 250}), 0};
  load.arrivals.push_back({3600, 5, 5});
  std::atomic<bool> stop = false;
  EngineRunOptions options;
  options.stop = &stop;
  options.wrap = [&](std::shared_ptr<StepDevice> device) {
    return std::make_shared<CountingDevice>(std::move(device), 40, stop);
  };
  const EngineRun run = run_engine(tiny_model(), small_config(), load, 1, options).value();
  EXPECT_LT(run.outcomes.size(), 13U);
  for (const Outcome& one : run.outcomes) {
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.output, 250);
  }
}

TEST(EngineLoadTest, WhatHasNotEndedInTimeIsLeftOut) {
  // The last would come in an hour, and the one before it waits for the first.
  const Load load{{{0, 5, 250}, {0, 5, 250}, {3600, 5, 5}}, 1};
  EngineRunOptions options;
  options.seconds = 0.02;
  const EngineRun run = run_engine(tiny_model(), small_config(), load, 1, options).value();
  EXPECT_LT(run.outcomes.size(), 3U);
  for (const Outcome& one : run.outcomes) {
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.output, 250);
  }
}

TEST(EngineLoadTest, ProgressIsToldUpToTheEnd) {
  std::size_t last = 0;
  std::size_t all = 0;
  EngineRunOptions options;
  options.progress = [&](std::size_t done, std::size_t of) {
    EXPECT_GE(done, last);
    last = done;
    all = of;
  };
  const Load load = at_once(5);
  ASSERT_TRUE(run_engine(tiny_model(), small_config(), load, 1, options).has_value());
  EXPECT_EQ(last, 5U);
  EXPECT_EQ(all, 5U);
}

TEST(EngineLoadTest, InstancesAreDevicesOfOneRow) {
  Config config = small_config();
  config.policy = BatchPolicy::kInstances;
  config.instances = 3;
  const Load load = at_once(6);
  std::vector<std::shared_ptr<StepMeter>> devices;
  EngineRunOptions options;
  options.wrap = [&devices](std::shared_ptr<StepDevice> device) {
    devices.push_back(std::make_shared<StepMeter>(std::move(device)));
    return devices.back();
  };
  const EngineRun run = run_engine(tiny_model(), config, load, 1, options).value();
  EXPECT_EQ(run.devices, 3U);
  // Each has its share, whenever the others were counted.
  for (const auto& device : devices) {
    EXPECT_TRUE(std::ranges::any_of(
        device->records(), [&run](const StepRecord& step) { return step.began >= run.began; }));
  }
  EXPECT_EQ(run.limits.rows, 1);
  EXPECT_EQ(most_sequences(run), 1);
  std::int64_t tokens = 0;
  for (const Outcome& one : run.outcomes) tokens += one.output;
  EXPECT_EQ(tokens, outputs_of(load));
}

TEST(EngineLoadTest, TheWarmUpTouchesAsManyRowsAsWillRunAtOnce) {
  const auto warmed_tokens = [](const Load& load) {
    std::shared_ptr<StepMeter> device;
    EngineRunOptions options;
    options.wrap = [&device](std::shared_ptr<StepDevice> inner) {
      return device = std::make_shared<StepMeter>(std::move(inner));
    };
    const EngineRun run = run_engine(tiny_model(), small_config(), load, 1, options).value();
    std::int64_t tokens = 0;
    for (const StepRecord& step : device->records()) {
      if (step.began < run.began) tokens += step.prefill_tokens;
    }
    return tokens;
  };
  constexpr std::int64_t kPrompt = 16;
  EXPECT_EQ(warmed_tokens(at_once(3)), 3 * kPrompt);
  EXPECT_EQ(warmed_tokens(at_once(12)), 8 * kPrompt);
  EXPECT_EQ(warmed_tokens(at_once(12, 2)), 2 * kPrompt);
}

TEST(EngineLoadTest, RowsThatMoveAreCountedAndWithSlabsTheirPages) {
  // Some end between others that go on, also where one thread prepares the even ones and another
  // the odd ones; late enough for all of them to be there.
  Load load;
  for (const std::int32_t output : {240, 120, 120, 240, 240, 120, 120, 240}) {
    load.arrivals.push_back({0, 5, output});
  }
  Config config = small_config();
  config.kv_layout = KvLayout::kSlab;
  const EngineRun run = run_engine(tiny_model(), config, load, 1).value();
  std::int32_t rows = 0;
  std::int32_t pages = 0;
  for (const StepRecord& step : run.steps) {
    rows += step.moved_rows;
    pages += step.moved_pages;
  }
  EXPECT_GT(rows, 0);
  EXPECT_GE(pages, rows);
  const EngineRun paged = run_engine(tiny_model(), small_config(), load, 1).value();
  for (const StepRecord& step : paged.steps) EXPECT_EQ(step.moved_pages, 0);
}

TEST(EngineLoadTest, AMeanBatchCountsStepsByTheirTime) {
  const auto step = [](int from_ms, int to_ms, std::int32_t sequences) {
    StepRecord record;
    record.began = TimePoint(std::chrono::milliseconds(from_ms));
    record.ended = TimePoint(std::chrono::milliseconds(to_ms));
    record.decodes = sequences - 1;
    record.prefills = 1;
    return record;
  };
  EXPECT_DOUBLE_EQ(mean_batch({step(0, 10, 1), step(10, 40, 5)}), 4);
}

}  // namespace
}  // namespace weft::measure
