#include "weft/actors/models/device_turns.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/time/steady_clock.h"
#include "weft/core/time/virtual_clock.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft {
namespace {

std::shared_ptr<ModelUse> busy() {
  auto use = std::make_shared<ModelUse>();
  use->of(RequestClass::kChat) = 1;
  return use;
}

std::shared_ptr<StepDevice> device_that(std::function<void(const Plan&)> run) {
  test::FakeDevice::Options options{.limits = {.rows = 1,
                                               .pages = 1,
                                               .page_tokens = 1,
                                               .step_tokens = 1,
                                               .context = 1,
                                               .cross_pages = 0,
                                               .vocabulary = 4}};
  options.run = std::move(run);
  return std::make_shared<test::FakeDevice>(std::move(options));
}

TEST(DeviceTurnsTest, LetsOneModelRunAtATime) {
  const auto turns = std::make_shared<DeviceTurns>(std::make_shared<SteadyClock>());
  std::atomic<int> inside{0};
  std::atomic<int> steps{0};
  constexpr int kSteps = 200;
  std::vector<std::thread> executors;
  for (int i = 0; i < 3; ++i) {
    const auto device = turns->share(device_that([&](const Plan& /*plan*/) {
                                       EXPECT_EQ(++inside, 1) << "two models have the device";
                                       std::this_thread::yield();
                                       --inside;
                                       ++steps;
                                     }),
                                     i + 1, busy());
    executors.emplace_back([device] {
      Plan plan;
      StepResult result;
      for (int step = 0; step < kSteps; ++step) {
        plan.tick = static_cast<std::uint64_t>(step) + 1;
        result.clear();
        device->run(plan, result);
        EXPECT_GT(result.took, Duration{});
      }
    });
  }
  for (std::thread& executor : executors) executor.join();
  EXPECT_EQ(steps, 3 * kSteps);
}

TEST(DeviceTurnsTest, GivesTheDeviceBackWhenAStepFails) {
  const auto turns = std::make_shared<DeviceTurns>(std::make_shared<SteadyClock>());
  const auto fails = turns->share(
      device_that([](const Plan& /*plan*/) { throw std::runtime_error("a step fails"); }), 1,
      busy());
  const auto works = turns->share(device_that({}), 1, std::make_shared<ModelUse>());
  Plan plan;
  plan.tick = 1;
  StepResult result;
  EXPECT_THROW(fails->run(plan, result), std::runtime_error);
  works->run(plan, result);
  EXPECT_GT(result.took, Duration{});
}

TEST(DeviceTurnsTest, GoesOnWhileTheUrgencyOfItsModelsChanges) {
  const auto turns = std::make_shared<DeviceTurns>(std::make_shared<SteadyClock>());
  constexpr int kSteps = 2'000;
  const std::array uses = {std::make_shared<ModelUse>(), std::make_shared<ModelUse>()};
  std::atomic<bool> done{false};
  std::vector<std::thread> executors;
  for (const auto& use : uses) {
    executors.emplace_back([device = turns->share(device_that({}), 1, use)] {
      Plan plan;
      StepResult result;
      for (int step = 0; step < kSteps; ++step) {
        plan.tick = static_cast<std::uint64_t>(step) + 1;
        result.clear();
        device->run(plan, result);
      }
    });
  }
  std::thread requests([&] {
    while (!done) {
      for (const auto& use : uses) {
        use->of(RequestClass::kBatch) = 1;
        use->of(RequestClass::kBatch) = 0;
      }
    }
  });
  for (std::thread& executor : executors) executor.join();
  done = true;
  requests.join();
}

TEST(DeviceTurnsTest, SaysWhoHasTheTurnWhereAllRunOnOneThread) {
  const auto clock = std::make_shared<VirtualClock>();
  const auto turns = std::make_shared<DeviceTurns>(clock);
  const auto batch_use = std::make_shared<ModelUse>();
  batch_use->of(RequestClass::kBatch) = 1;
  const auto batch = turns->share(device_that({}), 1, batch_use);
  const auto chat = turns->share(device_that({}), 1, busy());
  EXPECT_FALSE(chat->has_turn()) << "it does not ask";
  batch->ask(true);
  EXPECT_TRUE(batch->has_turn());
  chat->ask(true);
  EXPECT_TRUE(chat->has_turn());
  EXPECT_FALSE(batch->has_turn()) << "chat goes first";
  chat->ask(false);
  EXPECT_TRUE(batch->has_turn());
  chat->ask(true);
  Plan plan;
  plan.tick = 1;
  StepResult result;
  chat->run(plan, result);
  EXPECT_FALSE(chat->has_turn()) << "it has had it";
  EXPECT_FALSE(batch->has_turn()) << "chat asks again in a moment";
  clock->advance(TurnOrder::kGrace);
  EXPECT_TRUE(batch->has_turn());
}

TEST(DeviceTurnsTest, CountsWhatADeviceSaysThatItTook) {
  const auto turns = std::make_shared<DeviceTurns>(std::make_shared<VirtualClock>());
  const auto takes = [](std::chrono::milliseconds time) {
    test::FakeDevice::Options options{.limits = device_that({})->limits()};
    options.took = [time](const Plan& /*plan*/) { return time; };
    return std::make_shared<test::FakeDevice>(std::move(options));
  };
  const auto slow = turns->share(takes(std::chrono::milliseconds(30)), 1, busy());
  const auto fast = turns->share(takes(std::chrono::milliseconds(10)), 1, busy());
  int steps_of_slow = 0;
  int steps_of_fast = 0;
  for (std::uint64_t tick = 1; tick <= 80; ++tick) {
    slow->ask(true);
    fast->ask(true);
    const bool turn = slow->has_turn();
    EXPECT_NE(turn, fast->has_turn());
    Plan plan;
    plan.tick = tick;
    StepResult result;
    (turn ? slow : fast)->run(plan, result);
    ++(turn ? steps_of_slow : steps_of_fast);
  }
  EXPECT_NEAR(steps_of_fast, 3 * steps_of_slow, 3);
}

TEST(DeviceTurnsTest, CountsNoWaitAsTheStepsTime) {
  const auto turns = std::make_shared<DeviceTurns>(std::make_shared<SteadyClock>());
  constexpr auto kLong = std::chrono::milliseconds(50);
  std::atomic<bool> begun{false};
  const auto slow = turns->share(device_that([&](const Plan& /*plan*/) {
                                   begun = true;
                                   const auto until = std::chrono::steady_clock::now() + kLong;
                                   while (std::chrono::steady_clock::now() < until) {
                                   }
                                 }),
                                 1, std::make_shared<ModelUse>());
  const auto fast = turns->share(device_that({}), 1, busy());
  Plan plan;
  plan.tick = 1;
  std::thread other([&] {
    StepResult result;
    slow->run(plan, result);
  });
  while (!begun) std::this_thread::yield();
  StepResult result;
  fast->run(plan, result);
  other.join();
  EXPECT_LT(result.took, kLong / 2);
}

}  // namespace
}  // namespace weft
