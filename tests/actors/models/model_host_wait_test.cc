#include <gtest/gtest.h>

#include <atomic>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/gpu/device_error.h"
#include "weft/tests/actors/models/model_host_fixture.h"

namespace weft {
namespace {

using test::EndSink;
using test::models_of;

/// The host's treatment of requests and calls that come while a model is loaded or destroyed.
class ModelHostWaitTest : public test::ModelHostTest {
 protected:
  /// A model that is destroyed says that it has `begun`, and stays until it `may_go`.
  void hold_what_is_destroyed() {
    traces->while_destroyed = [this] {
      begun_.count_down();
      may_go_.wait();
    };
  }

  std::latch begun_{1};
  std::latch may_go_{1};
};

TEST_F(ModelHostWaitTest, DropsAModelThatIsLoadedAfterTheStop) {
  config.models[1].load = false;
  start();
  std::latch begun(1);
  std::latch may_go_on(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& /*how*/) {
    begun.count_down();
    may_go_on.wait();
  };
  auto late = load("b");
  begun.wait();
  std::atomic<bool> stopped{false};
  engine->async_shutdown([&](boost::system::error_code) { stopped = true; });
  while (traces->stops < 1) std::this_thread::yield();
  may_go_on.count_down();
  EXPECT_EQ(wait(std::move(late)).error, EngineErrc::kStopping);
  while (!stopped) {
    if (io.run_one() == 0) io.restart();
  }
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
  EXPECT_EQ(traces->destroyed, 1);
}

TEST_F(ModelHostWaitTest, CountsAModelAsThereUntilItsMemoryIsFree) {
  start();
  hold_what_is_destroyed();
  auto first = unload("b");
  begun_.wait();
  auto second = unload("b");
  auto too_early = load("b");
  EXPECT_EQ(wait(std::move(too_early)).error, EngineErrc::kModelUnloading);
  EXPECT_EQ(state("b"), ModelState::kUnloading);
  EXPECT_EQ(second.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  may_go_.count_down();
  EXPECT_FALSE(wait(std::move(first)).error);
  EXPECT_FALSE(wait(std::move(second)).error);
  traces->while_destroyed = nullptr;
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
}

TEST_F(ModelHostWaitTest, CountsAModelThatLeavesForAnotherAsThereUntilItsMemoryIsFree) {
  config.max_loaded = 1;
  start();
  hold_what_is_destroyed();
  const auto in_b = submit("b");  // a is idle, and leaves
  begun_.wait();
  EXPECT_EQ(state("a"), ModelState::kUnloading);
  auto gone = unload("a");
  EXPECT_EQ(wait(load("a")).error, EngineErrc::kModelUnloading);
  io.poll();
  EXPECT_EQ(gone.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  may_go_.count_down();
  EXPECT_FALSE(wait(std::move(gone)).error);
  traces->while_destroyed = nullptr;
  EXPECT_EQ(state("a"), ModelState::kUnloaded);
  while (state("b") != ModelState::kLoaded) std::this_thread::yield();
  while (port("b").size() == 0) std::this_thread::yield();
  port("b").finish(0);
  EXPECT_EQ(in_b->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostWaitTest, LoadsNoModelAgainWhileTheLostOneIsBeingDestroyed) {
  start();
  hold_what_is_destroyed();
  ExitReport report;
  report.reason = {.kind = ExitKind::kDeviceLost, .what = "gone"};
  report.action = SupervisionAction::kNotReady;
  hooks["b"](report);
  begun_.wait();
  auto too_early = load("b");
  auto gone = unload("b");
  may_go_.count_down();
  EXPECT_EQ(wait(std::move(too_early)).error, EngineErrc::kModelUnloading);
  EXPECT_FALSE(wait(std::move(gone)).error);
  traces->while_destroyed = nullptr;
  EXPECT_FALSE(wait(load("b")).error);
  EXPECT_EQ(state("b"), ModelState::kLoaded);
}

TEST_F(ModelHostWaitTest, KeepsAModelForTheRequestsOfThoseWhoHaveWaitedForIt) {
  config.max_loaded = 1;
  start();
  failures["of a"] = {DeviceErrc::kOutOfMemory, "b should have stayed"};
  EXPECT_FALSE(wait(load("b")).error);
  auto other = load("a");
  const auto waits = submit("a", std::chrono::milliseconds(100));
  clock->advance(std::chrono::seconds(1));
  EXPECT_EQ(waits->wait().error.code, EngineErrc::kDeadlineExceeded);
  ASSERT_EQ(state("b"), ModelState::kLoaded);
  const auto in_b = submit("b");
  EXPECT_EQ(wait(std::move(other)).error, EngineErrc::kOverloaded);
  port("b").finish(0);
  EXPECT_EQ(in_b->wait().reason, FinishReason::kStop);
  failures.clear();
  EXPECT_FALSE(wait(load("a")).error) << "the request that was waited for has come";
  auto next = load("b");
  clock->advance(std::chrono::seconds(2));
  EXPECT_FALSE(wait(std::move(next)).error) << "the request for a does not come";
}

TEST_F(ModelHostWaitTest, EndsARequestWhoseTimeIsOverWhileAnotherModelLoads) {
  config = models_of({"a", "b", "c"});
  config.models[1].load = config.models[2].load = false;
  config.max_loaded = 3;
  start();
  std::latch begun(1);
  std::latch may_go_on(1);
  std::shared_ptr<EndSink> late;
  bool in_time = false;
  on_make = [&](const Config& what, const PipelineOptions& how) {
    if (what.model != "of b") return;
    begun.count_down();
    may_go_on.wait();
    how.progress(1, 2);
    in_time = late->ended();
  };
  auto loaded = load("b");
  begun.wait();
  late = submit("c", std::chrono::seconds(1));
  clock->advance(std::chrono::seconds(1));
  may_go_on.count_down();
  EXPECT_EQ(late->wait().error.code, EngineErrc::kDeadlineExceeded);
  EXPECT_FALSE(wait(std::move(loaded)).error);
  EXPECT_TRUE(in_time);
}

TEST_F(ModelHostWaitTest, BoundsThePromptsThatWaitForAModel) {
  config.models[1].load = false;
  config.models[1].config.max_queued_prompt_tokens = 2;
  config.max_loaded = 2;
  start();
  std::latch may_go_on(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& /*how*/) { may_go_on.wait(); };
  const auto first = submit("b");
  const auto second = submit("b");
  EXPECT_EQ(refusal_of("b"), EngineErrc::kOverloaded);
  may_go_on.count_down();
  while (state("b") != ModelState::kLoaded || port("b").size() < 2) std::this_thread::yield();
  for (std::size_t i = 0; i < 2; ++i) port("b").finish(i);
  EXPECT_EQ(first->wait().reason, FinishReason::kStop);
  EXPECT_EQ(second->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostWaitTest, IsNotFullWhereARequestWouldHaveItsModelLoaded) {
  config.max_loaded = 2;
  start();
  port("a").is_full = true;
  EXPECT_FALSE(host->full());
  port("b").is_full = true;
  EXPECT_TRUE(host->full());
  EXPECT_FALSE(wait(unload("b")).error);
  EXPECT_FALSE(host->full()) << "a request would bring b back";
}

TEST_F(ModelHostWaitTest, GoesOnWhenWhoHearsOfItsModelsThrows) {
  news_throw = true;
  start();
  EXPECT_FALSE(wait(unload("b")).error);
  EXPECT_FALSE(wait(load("b")).error);
}

TEST_F(ModelHostWaitTest, LoadsAndUnloadsWithinACallWhereItHasNoThread) {
  own_thread = false;
  config.models[1].load = false;
  start();
  auto loaded = load("b");
  EXPECT_EQ(state("b"), ModelState::kLoading);
  EXPECT_TRUE(host->run_one_job());
  EXPECT_FALSE(host->run_one_job()) << "there was one";
  EXPECT_FALSE(wait(std::move(loaded)).error);
  const auto request = submit("b");
  auto unloaded = unload("b");
  EXPECT_FALSE(host->run_one_job()) << "its request has not ended";
  port("b").finish(0);
  EXPECT_TRUE(host->run_one_job());
  EXPECT_FALSE(wait(std::move(unloaded)).error);
  EXPECT_EQ(request->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostWaitTest, TriesAgainWithoutAThreadWhileSomebodyIsExpected) {
  own_thread = false;
  config.models[1].load = false;
  config.max_loaded = 1;
  start();
  auto first = load("b");
  EXPECT_TRUE(host->run_one_job()) << "a has no requests, and leaves";
  EXPECT_FALSE(wait(std::move(first)).error);
  auto second = load("a");
  EXPECT_FALSE(host->run_one_job()) << "who has loaded b comes for it";
  EXPECT_EQ(state("a"), ModelState::kLoading);
  clock->advance(std::chrono::seconds(3));
  EXPECT_TRUE(host->run_one_job());
  EXPECT_FALSE(wait(std::move(second)).error);
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
}

TEST_F(ModelHostWaitTest, StopsWithoutAThreadAndAnswersWhoWaits) {
  own_thread = false;
  config.models[1].load = false;
  start();
  auto late = load("b");
  std::atomic<bool> stopped{false};
  engine->async_shutdown([&](boost::system::error_code) { stopped = true; });
  EXPECT_EQ(wait(std::move(late)).error, EngineErrc::kStopping);
  EXPECT_FALSE(host->run_one_job());
  while (!stopped) {
    if (io.run_one() == 0) io.restart();
  }
}

TEST_F(ModelHostWaitTest, RefusesALimitOfLoadedModelsBelowZero) {
  config.max_loaded = -1;
  EXPECT_THROW(start(), boost::system::system_error);
}

}  // namespace
}  // namespace weft
