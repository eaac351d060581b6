#include "weft/actors/stepper/stepper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/config/config_error.h"
#include "weft/core/actor/supervision.h"
#include "weft/core/time/virtual_clock.h"
#include "weft/schedule/step/chunk_planner.h"
#include "weft/tests/actors/letter_fixture.h"
#include "weft/tests/fixture/allocation_count.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft::test {
namespace {

/// A request's output over all steps.
struct Gathered {
  std::map<std::int32_t, std::vector<TokenId>> tokens;
  std::map<std::int32_t, std::string> texts;
  std::size_t steps = 0;  ///< that gave it something
  std::optional<Finish> end;
};

class StepperTest : public LetterFixture {
 public:
  void start() {
    device = std::make_shared<FakeDevice>(device_options());
    StepperOptions options;
    options.clock = clock;
    stepper.emplace(config, letter_model(limits.context), device, options);
  }

  RequestId add(Request what = request()) {
    const auto id = stepper->add(std::move(what));
    EXPECT_TRUE(id) << to_string(id.error());
    return id ? *id : RequestId();
  }

  void infer() {
    for (StepOutput& output : stepper->infer()) {
      Gathered& one = got[output.id];
      EXPECT_FALSE(one.end) << "something came after the end";
      ++one.steps;
      for (const Delta& delta : output.deltas) {
        auto& tokens = one.tokens[delta.choice];
        tokens.insert(tokens.end(), delta.tokens.begin(), delta.tokens.end());
        one.texts[delta.choice] += delta.text;
      }
      if (output.end) one.end = std::move(output.end);
    }
  }
  void infer_all() {
    constexpr int kTooMany = 10'000;
    for (int i = 0; !stepper->idle(); ++i) {
      ASSERT_LT(i, kTooMany);
      infer();
    }
  }
  [[nodiscard]] boost::system::error_code error(RequestId id) {
    return got[id].end ? got[id].end->error.code : boost::system::error_code();
  }
  void expect_nothing_held() const {
    const EngineStats stats = stepper->stats();
    EXPECT_EQ(stats.requests, 0U);
    EXPECT_EQ(stats.running, 0U);
    EXPECT_EQ(stats.waiting, 0U);
    EXPECT_EQ(stats.pages_free, stats.pages);
    EXPECT_EQ(stats.queued_prompt_tokens, 0);
  }

  std::shared_ptr<VirtualClock> clock = std::make_shared<VirtualClock>();
  std::optional<Stepper> stepper;
  std::map<RequestId, Gathered> got;
};

TEST_F(StepperTest, GivesATokenOfEachRequestInEachStep) {
  start();
  const RequestId first = add(request(5, 3));
  infer();
  EXPECT_EQ(got[first].tokens[0].size(), 1U);
  const RequestId second = add(request(7, 2));
  infer();
  EXPECT_EQ(got[first].tokens[0].size(), 2U);
  EXPECT_EQ(got[second].tokens[0].size(), 1U);
  infer();
  EXPECT_TRUE(stepper->idle());
  EXPECT_EQ(device->steps(), 3U);
  EXPECT_EQ(got[first].tokens[0], expected(request(5, 3)));
  EXPECT_EQ(got[second].tokens[0], expected(request(7, 2)));
  ASSERT_TRUE(got[first].end);
  EXPECT_EQ(got[first].end->reason, FinishReason::kLength);
  EXPECT_EQ(got[first].end->usage.prompt_tokens, 5);
  EXPECT_EQ(got[first].end->usage.output_tokens, 3);
  expect_nothing_held();
}

TEST_F(StepperTest, RunsNoStepWithoutRequests) {
  start();
  EXPECT_TRUE(stepper->idle());
  EXPECT_TRUE(stepper->infer().empty());
  EXPECT_EQ(device->steps(), 0U);
}

TEST_F(StepperTest, GivesNothingWhileItComputesALongPrompt) {
  limits.step_tokens = 4;
  start();
  const RequestId id = add(request(10, 1));
  infer();
  infer();
  EXPECT_EQ(got[id].steps, 0U);
  EXPECT_EQ(device->steps(), 2U);
  infer();
  EXPECT_EQ(got[id].tokens[0], expected(request(10, 1)));
}

/// Counts what each step feeds, and takes a millisecond for each token.
class StepperDeadlineTest : public StepperTest {
 public:
  static constexpr std::chrono::milliseconds kEach{1};

  void start_timed(std::chrono::microseconds target) {
    limits.step_tokens = 512;
    limits.context = 1024;
    limits.pages = 512;
    config.target_inter_token = target;
    auto options = device_options();
    options.took = [this](const Plan& plan) {
      fed.push_back(tokens_of(plan));
      return kEach * tokens_of(plan);
    };
    device = std::make_shared<FakeDevice>(std::move(options));
    StepperOptions how;
    how.clock = clock;
    stepper.emplace(config, letter_model(limits.context), device, how);
  }

  std::vector<std::int32_t> fed;
};

TEST_F(StepperDeadlineTest, CutsPromptsToWhatIsLeftUntilItsDeadline) {
  start_timed(std::chrono::seconds(60));
  add(request(1000, 1));
  for (int i = 0; i < 12; ++i) {
    static_cast<void>(stepper->infer(clock->now() + 40 * kEach));
  }
  ASSERT_EQ(fed.size(), 12U);
  EXPECT_EQ(fed.front(), ChunkPlanner::kLeastChunk) << "nobody knows yet what a token takes";
  for (const std::int32_t tokens : fed) EXPECT_LE(tokens, 44) << "estimates err by a tenth";
  EXPECT_NEAR(fed.back(), 40, 4);
  static_cast<void>(stepper->infer(clock->now() - kEach));
  EXPECT_EQ(fed.back(), ChunkPlanner::kLeastChunk) << "what cannot be cut is computed";
  static_cast<void>(stepper->infer());
  EXPECT_GT(fed.back(), 40) << "a deadline is of one step";
}

TEST_F(StepperDeadlineTest, KeepsToTheTargetFromTheFirstStepOn) {
  start_timed(std::chrono::microseconds(100));
  add(request(500, 1));
  for (int i = 0; i < 20; ++i) infer();
  ASSERT_EQ(fed.size(), 20U);
  for (const std::int32_t tokens : fed) EXPECT_EQ(tokens, ChunkPlanner::kLeastChunk);
}

// Nothing was planned ahead of the stop string: with the pipeline one more step would have run.
TEST_F(StepperTest, EndsAnOutputWithItsStopStringBeforeTheNextStep) {
  start();
  Request stops = request(5, 20);
  const std::vector<TokenId> tokens = expected(stops);
  stops.stop = {letters_of(tokens[2])};
  const RequestId id = add(stops);
  infer_all();
  EXPECT_EQ(device->steps(), 3U);
  EXPECT_EQ(got[id].texts[0], letters_of(tokens[0]) + letters_of(tokens[1]));
  ASSERT_TRUE(got[id].end);
  EXPECT_EQ(got[id].end->choices.at(0).stop, stops.stop[0]);
  EXPECT_EQ(got[id].end->reason, FinishReason::kStop);
}

TEST_F(StepperTest, TellsOfACancelledRequestInTheNextStep) {
  start();
  const RequestId first = add();
  const RequestId second = add();
  infer();
  EXPECT_TRUE(stepper->cancel(first));
  EXPECT_FALSE(stepper->cancel(first)) << "was asked before";
  EXPECT_TRUE(stepper->stop(second));
  EXPECT_FALSE(stepper->idle());
  infer();
  EXPECT_TRUE(stepper->idle());
  EXPECT_EQ(device->steps(), 1U) << "nothing was left to compute";
  EXPECT_EQ(error(first), EngineErrc::kCancelled);
  EXPECT_EQ(got[first].end->reason, FinishReason::kCancelled);
  EXPECT_EQ(got[second].end->reason, FinishReason::kStop);
  EXPECT_FALSE(stepper->cancel(first)) << "has ended";
  EXPECT_FALSE(stepper->stop(RequestId(77))) << "never was";
  expect_nothing_held();
}

TEST_F(StepperTest, RefusesWhatItHasNoRoomFor) {
  config.max_queued_requests = 2;
  config.max_queued_prompt_tokens = 20;
  config.max_prompt_bytes = 100;
  start();
  add(request(10));
  EXPECT_THAT(stepper->add(request(10)), FailsWith(EngineErrc::kOverloaded, "prompt tokens"));
  add(request(2));
  EXPECT_THAT(stepper->add(request(1)), FailsWith(EngineErrc::kOverloaded, "requests"));
  infer_all();
  Request large;
  large.prompt.assign(101, 'a');
  EXPECT_THAT(stepper->add(large), FailsWith(EngineErrc::kBadRequest, "prompt: 101 bytes"));
  add(request(30));  // a single one is never too much
  infer_all();
  expect_nothing_held();
}

TEST_F(StepperTest, NamesTheFieldOfABadRequest) {
  start();
  Request many = request();
  many.sampling.n = 1 << 20;
  EXPECT_THAT(stepper->add(many), FailsWith(EngineErrc::kBadRequest, "n = 1048576"));
  Request hot = request();
  hot.sampling.temperature = -1;
  EXPECT_THAT(stepper->add(hot), FailsWith(EngineErrc::kBadRequest, "temperature"));
  Request foreign = request();
  foreign.prompt_tokens[1] = kLetters;
  EXPECT_THAT(stepper->add(foreign), FailsWith(EngineErrc::kBadRequest, "prompt_tokens[1]: 48"));
  EXPECT_THAT(stepper->add(request(60, 6)), FailsWith(EngineErrc::kContextLengthExceeded, "64"));
  Request wide = request();
  wide.sampling.n = 5;
  EXPECT_THAT(stepper->add(wide), FailsWith(EngineErrc::kNeverFits, "rows"));
  EXPECT_TRUE(stepper->idle());
  EXPECT_TRUE(stepper->infer().empty()) << "those that were refused have no end of their own";
  expect_nothing_held();
}

TEST_F(StepperTest, EndsARequestWhoseTimeIsOver) {
  start();
  Request late = request(5, 20);
  late.timeout = std::chrono::milliseconds(10);
  const RequestId id = add(late);
  infer();
  clock->advance(std::chrono::milliseconds(11));
  infer();
  EXPECT_EQ(error(id), EngineErrc::kDeadlineExceeded);
  expect_nothing_held();
}

TEST_F(StepperTest, LosesWithAStepOnlyTheRequestsThatRan) {
  limits.rows = 1;
  start();
  const RequestId runs = add();
  const RequestId waits = add();
  infer();
  on_step = [](const Plan&) { throw std::runtime_error("the device stumbles"); };
  infer();
  on_step = nullptr;
  EXPECT_EQ(error(runs), EngineErrc::kDeviceFailed);
  EXPECT_EQ(got[runs].end->error.detail, "the device stumbles");
  EXPECT_TRUE(stepper->ready());
  infer_all();
  EXPECT_EQ(got[waits].tokens[0], expected(request()));
  expect_nothing_held();
}

TEST_F(StepperTest, EndsAllWhenTheDeviceIsLost) {
  limits.rows = 1;
  start();
  const RequestId runs = add();
  const RequestId waits = add();
  on_step = [](const Plan&) { throw ActorFailure(ExitKind::kDeviceLost, "the device is gone"); };
  infer();
  EXPECT_EQ(error(runs), EngineErrc::kDeviceFailed);
  EXPECT_EQ(error(waits), EngineErrc::kDeviceFailed);
  EXPECT_TRUE(stepper->idle());
  EXPECT_FALSE(stepper->ready());
  EXPECT_THAT(stepper->add(request()), FailsWith(EngineErrc::kNotReady, ""));
  EXPECT_TRUE(stepper->infer().empty());
}

TEST_F(StepperTest, FailsARequestForWhichNothingCanBeChosen) {
  start();
  const RequestId id = add();
  device->give_no_numbers();
  infer_all();
  EXPECT_EQ(error(id), EngineErrc::kNotNumbers);
  expect_nothing_held();
}

TEST_F(StepperTest, CanBeDestroyedAndMovedWithRequestsUnderWay) {
  start();
  add();
  infer();
  Stepper other(std::move(*stepper));
  EXPECT_EQ(other.infer().size(), 1U);
}

TEST_F(StepperTest, KeepsEveryPromiseOverRandomRequestsAndCancels) {
  limits.pages = 24;  // so that some give way
  start();
  std::mt19937 random(7);
  std::map<RequestId, Request> sent;
  std::vector<RequestId> cancelled;
  for (int i = 0; i < 2000; ++i) {
    const auto dice = random() % 4;
    if (dice == 0) {
      Request one = request(1 + random() % 20, 1 + static_cast<std::int32_t>(random() % 12));
      one.sampling.seed = random();
      if (random() % 2 == 0) one.request_class = RequestClass::kBatch;
      sent.emplace(add(one), one);
    } else if (dice == 1 && !sent.empty()) {
      const RequestId any(sent.size() - std::min<std::size_t>(random() % 8, sent.size() - 1));
      if (stepper->cancel(any)) cancelled.push_back(any);
    } else {
      infer();
    }
  }
  infer_all();
  for (const auto& [id, one] : sent) {
    ASSERT_TRUE(got[id].end) << to_string(id);
    if (got[id].end->reason == FinishReason::kLength) {
      EXPECT_EQ(got[id].tokens[0], expected(one)) << to_string(id);
    }
  }
  for (const RequestId id : cancelled) EXPECT_EQ(got[id].end->reason, FinishReason::kCancelled);
  EXPECT_GT(cancelled.size(), 20U);
  EXPECT_GT(stepper->stats().preemptions, 0U);
  expect_nothing_held();
}

class StepperMemoryTest : public StepperTest {
 protected:
  /// Plays two requests while the n-th allocation fails. Returns whether there were as many.
  bool play(std::size_t n) {
    got.clear();
    start();
    Request several = request(9, 3);
    several.sampling.n = 2;
    several.stop = {"zz"};
    Request one = request(5, 4);
    std::vector<RequestId> begun;
    begun.reserve(2);
    allocation_that_fails = n;
    if (const auto id = stepper->add(std::move(several))) begun.push_back(*id);
    if (const auto id = stepper->add(std::move(one))) begun.push_back(*id);
    constexpr int kTooMany = 100;
    for (int i = 0; i < kTooMany && !stepper->idle(); ++i) infer_without_memory();
    const bool failed = std::exchange(allocation_that_fails, 0) == 0;
    EXPECT_TRUE(stepper->idle());
    for (const RequestId id : begun) EXPECT_TRUE(got[id].end) << to_string(id);
    EXPECT_EQ(got.size(), begun.size());
    if (stepper->ready()) expect_served();
    return failed;
  }

 private:
  void infer_without_memory() {
    std::vector<StepOutput> outputs;
    try {
      outputs = stepper->infer();
    } catch (const std::bad_alloc&) {
      return;
    }
    const NoFailingAllocation own;
    for (StepOutput& output : outputs) {
      EXPECT_FALSE(got[output.id].end) << "a second end";
      if (output.end) got[output.id].end = std::move(output.end);
    }
  }
  void expect_served() {
    const RequestId id = add(request(5, 3));
    infer_all();
    EXPECT_EQ(got[id].tokens[0], expected(request(5, 3)));
    expect_nothing_held();
  }
};

TEST_F(StepperMemoryTest, EndsEachRequestOnceWhicheverAllocationFails) {
  constexpr std::size_t kMost = 5000;
  std::size_t n = 1;
  while (n < kMost && play(n)) ++n;
  EXPECT_GT(n, 50U) << "allocations are not counted";
  EXPECT_LT(n, kMost);
}

TEST(StepperCreate, RefusesWhatRunsSeveralStepsByItsKey) {
  Config config;
  config.model = "nowhere";
  config.replicas = "2";
  EXPECT_THAT(Stepper::create(config), FailsWith(ConfigErrc::kBadConfig, "device.replicas"));
  config.replicas = "1";
  config.policy = BatchPolicy::kInstances;
  EXPECT_THAT(Stepper::create(config), FailsWith(ConfigErrc::kBadConfig, "scheduling.policy"));
  config.policy = BatchPolicy::kFusion;
  const auto missing = Stepper::create(config);
  ASSERT_FALSE(missing);
  EXPECT_NE(to_string(missing.error()).find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
