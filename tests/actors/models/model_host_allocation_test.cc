// A program of its own, because it lets allocations fail.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft::test
