#include "weft/tests/actors/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace weft::test {
namespace {

// Under sanitizers an event takes some ten times as long.
#if defined(WEFT_ABORT_ON_INTERNAL_ERROR)
constexpr std::size_t kSeeds = 20;
#else
constexpr std::size_t kSeeds = 200;
#endif
constexpr std::size_t kEventsOfASeed = 5000;

void simulate(std::uint64_t seed, bool failures, std::size_t& completed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", replay with WEFT_SEED");
  Simulation simulation({.seed = seed, .failures = failures});
  for (std::size_t i = 0; i < kEventsOfASeed && !testing::Test::HasFailure(); ++i) {
    simulation.step();
  }
  if (testing::Test::HasFailure()) return;
  simulation.settle();
  completed += simulation.completed();
}

void simulate_all(bool failures) {
  std::size_t completed = 0;
  if (const char* seed = std::getenv("WEFT_SEED")) {
    return simulate(std::strtoull(seed, nullptr, 10), failures, completed);
  }
  for (std::uint64_t seed = 1; seed <= kSeeds / 2 && !testing::Test::HasFailure(); ++seed) {
    simulate(seed, failures, completed);
  }
  EXPECT_GT(completed, kSeeds) << "the simulation hardly completes anything";
}

TEST(SimulationTest, NothingIsLostWithoutFailures) { simulate_all(false); }

TEST(SimulationTest, NothingIsLostWhenDevicesAndActorsFail) { simulate_all(true); }

}  // namespace
}  // namespace weft::test
