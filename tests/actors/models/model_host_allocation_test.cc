// A program of its own, because it lets allocations fail.

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/tests/actors/models/model_host_fixture.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft::test {
namespace {

TEST_F(ModelHostTest, TheLastRequestOfAModelThatLeavesTakesNoMemoryWhenItEnds) {
  own_thread = false;
  start();
  for (int round = 0; round < 32; ++round) {
    const auto last = submit("a");
    auto gone = unload("a");
    allocation_that_fails = 1;
    port("a").finish(0);
    EXPECT_EQ(std::exchange(allocation_that_fails, 0), 1U) << "round " << round;
    EXPECT_EQ(last->wait().reason, FinishReason::kStop);
    EXPECT_TRUE(host->run_one_job());
    EXPECT_FALSE(wait(std::move(gone)).error);
    auto back = load("a");
    EXPECT_TRUE(host->run_one_job());
    EXPECT_FALSE(wait(std::move(back)).error);
  }
}

TEST_F(ModelHostTest, AModelIsLostAlsoWhereNoMemoryIsLeftToSayWhy) {
  own_thread = false;
  start();
  ExitReport report{};
  report.actor = "executor@a, by a name that is too long to be in the string";
  report.reason = {.kind = ExitKind::kDeviceLost, .what = "gone"};
  report.action = SupervisionAction::kNotReady;
  const auto& lost = hooks.at("a");
  allocation_that_fails = 1;
  lost(report);
  EXPECT_EQ(std::exchange(allocation_that_fails, 0), 0U) << "nothing was allocated";
  EXPECT_TRUE(host->run_one_job());
  EXPECT_EQ(state("a"), ModelState::kFailed);
  EXPECT_EQ(engine->models()->find("a")->failure.code, EngineErrc::kNotReady);
}

TEST_F(ModelHostTest, OfAllActorsThatAreLostWithAModelTheFirstSaysWhy) {
  own_thread = false;
  start();
  ExitReport report{};
  report.reason = {.kind = ExitKind::kDeviceLost, .what = "gone"};
  report.action = SupervisionAction::kNotReady;
  for (int actor = 0; actor < 100; ++actor) {
    report.actor = std::to_string(actor);
    hooks.at("b")(report);
  }
  while (host->run_one_job()) {
  }
  EXPECT_EQ(state("b"), ModelState::kFailed);
  EXPECT_TRUE(engine->models()->find("b")->failure.detail.starts_with("0: "));
}

/// Calls it with every allocation failing in turn, until none is left to fail; `after` looks each
/// time at what a failure has left.
template <class Call, class After>
void fail_each_allocation(const Call& call, const After& after) {
  for (std::size_t failing = 1;; ++failing) {
    bool threw = false;
    allocation_that_fails = failing;
    try {
      call();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    const bool all_done = std::exchange(allocation_that_fails, 0) != 0;
    EXPECT_NE(threw, all_done) << "allocation " << failing;
    if (all_done) break;
    after();
  }
}

TEST_F(ModelHostTest, AModelStaysAsItIsWhereNoMemoryIsLeftToUnloadIt) {
  own_thread = false;
  start();
  int told = 0;
  std::size_t served = 0;
  fail_each_allocation([&] { host->unload_model("a", [&](const auto&) { ++told; }); },
                       [&] {
                         EXPECT_EQ(state("a"), ModelState::kLoaded);
                         EXPECT_FALSE(host->run_one_job());
                         const auto taken = submit("a");
                         ASSERT_EQ(port("a").size(), ++served);
                         port("a").finish(served - 1);
                         EXPECT_EQ(taken->wait().reason, FinishReason::kStop);
                       });
  EXPECT_EQ(state("a"), ModelState::kUnloading);
  EXPECT_TRUE(host->run_one_job());
  EXPECT_EQ(state("a"), ModelState::kUnloaded);
  EXPECT_EQ(told, 1);
  EXPECT_GT(served, 3U) << "the list, its names, the gate's callback";
}

TEST_F(ModelHostTest, AModelStaysAsItIsWhereNoMemoryIsLeftToLoadIt) {
  own_thread = false;
  config.models[1].load = false;
  start();
  int told = 0;
  fail_each_allocation([&] { host->load_model("b", [&](const auto&) { ++told; }); },
                       [&] {
                         EXPECT_EQ(state("b"), ModelState::kUnloaded);
                         EXPECT_FALSE(host->run_one_job());
                       });
  EXPECT_EQ(state("b"), ModelState::kLoading);
  EXPECT_TRUE(host->run_one_job());
  EXPECT_EQ(state("b"), ModelState::kLoaded);
  EXPECT_FALSE(host->run_one_job());
  EXPECT_EQ(told, 1);
}

TEST_F(ModelHostTest, AModelThatHasFailedSaysSoWhereNoMemoryIsLeftToForgetIt) {
  own_thread = false;
  failures["of b"] = Error{EngineErrc::kInternal, "b"};
  start();
  int told = 0;
  fail_each_allocation([&] { host->unload_model("b", [&](const auto&) { ++told; }); },
                       [&] {
                         EXPECT_EQ(state("b"), ModelState::kFailed);
                         EXPECT_EQ(refusal_of("b"), EngineErrc::kModelFailed);
                       });
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
  EXPECT_EQ(refusal_of("b"), EngineErrc::kModelNotLoaded);
  EXPECT_EQ(told, 1);
}

TEST_F(ModelHostTest, AModelThatIsLostLeavesAsSoonAsThereIsMemoryForIt) {
  own_thread = false;
  start();
  ExitReport report{};
  report.reason = {.kind = ExitKind::kDeviceLost, .what = "gone"};
  report.action = SupervisionAction::kNotReady;
  hooks.at("a")(report);
  bool done = false;
  std::size_t failing = 0;
  while (!done) {
    allocation_that_fails = ++failing;
    done = host->run_one_job();
    allocation_that_fails = 0;
  }
  EXPECT_GT(failing, 3U);
  EXPECT_EQ(engine->models()->find("a")->failure.code, EngineErrc::kNotReady);
  EXPECT_TRUE(host->run_one_job());
  EXPECT_EQ(traces->destroyed, 1);
}

TEST_F(ModelHostTest, AModelStaysWhereNoMemoryIsLeftToUnloadItForAnother) {
  own_thread = false;
  config.max_loaded = 1;
  start();
  const auto waits = submit("b");
  allocation_that_fails = 1;
  EXPECT_TRUE(host->run_one_job());
  EXPECT_EQ(std::exchange(allocation_that_fails, 0), 0U);
  EXPECT_EQ(waits->wait().error.code, EngineErrc::kInternal);
  EXPECT_EQ(state("a"), ModelState::kLoaded);
  EXPECT_EQ(traces->destroyed, 0);
  EXPECT_FALSE(submit("a")->ended());
  port("a").finish(0);
}

}  // namespace
}  // namespace weft::test
