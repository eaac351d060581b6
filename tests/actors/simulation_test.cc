// WEFT_SEED=N replays one seed. WEFT_SEEDS=N and WEFT_EVENTS=N, of each seed, play more than the
// suite does, as scripts/soak has it.
#include "weft/tests/actors/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace weft::test {
namespace {

// Over all shapes some five million events, which take a minute. Under sanitizers an event takes
// some twenty times as long.
#if defined(WEFT_ABORT_ON_INTERNAL_ERROR)
constexpr std::uint64_t kSeeds = 5;
constexpr std::uint64_t kReplayed = 2;
#else
constexpr std::uint64_t kSeeds = 40;
constexpr std::uint64_t kReplayed = 3;
#endif
constexpr std::uint64_t kEventsOfASeed = 5000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The totals over all seeds.
struct Tally {
  std::uint64_t events = 0;
  std::size_t requests = 0;
  std::size_t completed = 0;
  std::size_t failed_allocations = 0;
  std::size_t lost_engines = 0;
  std::uint64_t pages_read = 0;
  std::size_t loads = 0;
  std::size_t unloads = 0;
  std::size_t failed_models = 0;
  std::uint64_t found = 0;  // tokens
  std::uint64_t hollow_hits = 0;
  std::uint64_t adapter_loads = 0;
  SimulatedModel::Guesses guesses;
  SimulatedModel::States states;
  Simulation::Training training;
  std::uint64_t digest = 0;
};

void simulate(const SimulationOptions& options, Tally& tally) {
  SCOPED_TRACE("seed " + std::to_string(options.seed) + ", replay with WEFT_SEED");
  Simulation simulation(options);
  const std::uint64_t events = number_from("WEFT_EVENTS", kEventsOfASeed);
  for (std::uint64_t i = 0; i < events && !testing::Test::HasFailure(); ++i) simulation.step();
  if (testing::Test::HasFailure()) return;
  simulation.settle();
  tally.events += simulation.events();
  tally.requests += simulation.requests();
  tally.completed += simulation.completed();
  tally.failed_allocations += simulation.failed_allocations();
  tally.lost_engines += simulation.lost_engines();
  tally.pages_read += simulation.pages_read();
  tally.loads += simulation.loads();
  tally.unloads += simulation.unloads();
  tally.failed_models += simulation.failed_models();
  tally.found += simulation.tokens_found();
  tally.hollow_hits += simulation.hollow_hits();
  tally.adapter_loads += simulation.adapter_loads();
  tally.guesses.entries += simulation.guesses().entries;
  tally.guesses.unsure += simulation.guesses().unsure;
  tally.guesses.drafts += simulation.guesses().drafts;
  tally.guesses.made += simulation.guesses().made;
  tally.guesses.right += simulation.guesses().right;
  tally.states.kept += simulation.states().kept;
  tally.states.restored += simulation.states().restored;
  tally.states.from_host += simulation.states().from_host;
  const Simulation::Training& training = simulation.training();
  tally.training.tasks += training.tasks;
  tally.training.done += training.done;
  tally.training.failed += training.failed;
  tally.training.cancelled += training.cancelled;
  tally.training.paused += training.paused;
  tally.training.pieces += training.pieces;
  tally.training.beside += training.beside;
  tally.training.deferred += training.deferred;
  tally.digest ^= simulation.digest() + options.seed;
}

Tally simulate_all(SimulationOptions options, std::uint64_t seeds_of_suite = kSeeds) {
  Tally tally;
  if (const std::uint64_t seed = number_from("WEFT_SEED", 0)) {
    options.seed = seed;
    simulate(options, tally);
    return tally;
  }
  const std::uint64_t seeds = number_from("WEFT_SEEDS", seeds_of_suite);
  for (options.seed = 1; options.seed <= seeds && !testing::Test::HasFailure(); ++options.seed) {
    simulate(options, tally);
  }
  EXPECT_GT(tally.completed, 2 * seeds) << "the simulation hardly completes anything";
  std::cout << seeds << " seeds, " << tally.events << " events, " << tally.requests << " requests, "
            << tally.completed << " completed, " << tally.failed_allocations
            << " failed allocations, " << tally.lost_engines << " lost engines, "
            << tally.pages_read << " pages from files, " << tally.loads << " models loaded, "
            << tally.unloads << " unloaded, " << tally.failed_models << " failed, " << tally.found
            << " tokens found, " << tally.hollow_hits << " hollow paths, digest " << std::hex
            << tally.digest << std::dec << '\n';
  return tally;
}

TEST(SimulationTest, NothingIsLostWithoutFailures) { simulate_all({.failures = false}); }

TEST(SimulationTest, NothingIsLostWhenDevicesAndActorsFail) { simulate_all({}); }

TEST(SimulationTest, NothingIsLostWhenAllocationsFailAndTheClockJumps) {
  const Tally tally = simulate_all({.allocations = true});
  if (std::getenv("WEFT_SEED") != nullptr) return;
  EXPECT_GT(tally.failed_allocations, number_from("WEFT_SEEDS", kSeeds));
}

TEST(SimulationTest, NothingIsLostWhenSeveralTicksRunAtOnceOnOneDevice) {
  for (const std::int32_t stages : {2, 3}) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    simulate_all({.allocations = true, .stages = stages});
  }
}

TEST(SimulationTest, NothingIsLostAmongRanksThatFailOrHang) {
  for (const std::int32_t stages : {1, 2, 3}) {
    for (const std::size_t ranks : {1U, 2U, 4U}) {
      if (stages == 1 && ranks == 1) continue;  // it is no rank then
      SCOPED_TRACE(std::to_string(stages) + " stages of " + std::to_string(ranks) + " ranks");
      const Tally tally = simulate_all({.stages = stages, .ranks = ranks});
      if (std::getenv("WEFT_SEED") != nullptr) continue;
      EXPECT_GT(tally.lost_engines, 0U);
    }
  }
}

TEST(SimulationTest, NothingIsLostWhereAModelGoesAndComesBackToItsFiles) {
  constexpr std::uint64_t kFewer = kSeeds / 5;  // they wait for a disk
  const Tally tally = simulate_all({.files = true}, kFewer);
  if (std::getenv("WEFT_SEED") != nullptr) return;
  EXPECT_GT(tally.pages_read, 0U);
}

TEST(SimulationTest, NothingIsLostOrSharedAmongModelsThatComeAndGo) {
  for (const std::int32_t models : {2, 3}) {
    SCOPED_TRACE(std::to_string(models) + " models");
    const Tally tally = simulate_all({.allocations = true, .models = models}, 2 * kSeeds);
    if (std::getenv("WEFT_SEED") != nullptr) continue;
    const std::uint64_t seeds = number_from("WEFT_SEEDS", 2 * kSeeds);
    EXPECT_GT(tally.loads, 2 * seeds);
    EXPECT_GT(tally.unloads, seeds);
    EXPECT_GT(tally.failed_models, 0U);
  }
}

TEST(SimulationTest, NothingIsLostOrSharedAmongModelsWithFilesThatComeAndGo) {
  constexpr std::uint64_t kFewer = kSeeds / 5;  // they wait for a disk
  const Tally tally = simulate_all({.files = true, .models = 3}, kFewer);
  if (std::getenv("WEFT_SEED") != nullptr) return;
  EXPECT_GT(tally.pages_read, 0U);
  EXPECT_GT(tally.unloads, 0U);
}

TEST(SimulationTest, NothingIsLostOfModelsWithAnEncoder) {
  for (const std::int32_t stages : {1, 2}) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    const Tally tally = simulate_all({.allocations = true, .stages = stages, .encoder = true});
    if (std::getenv("WEFT_SEED") != nullptr) continue;
    EXPECT_GT(tally.found, tally.requests) << "tokens";
  }
}

TEST(SimulationTest, NothingIsLostOfModelsWithAWindow) {
  constexpr std::uint64_t kMore = 2 * kSeeds;  // few requests find a path whose beginning is gone
  std::uint64_t hollow_hits = 0;
  for (const std::int32_t stages : {1, 2}) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    const Tally tally = simulate_all({.allocations = true, .stages = stages, .windows = true},
                                     stages == 1 ? kMore : kSeeds);
    hollow_hits += tally.hollow_hits;
    if (std::getenv("WEFT_SEED") != nullptr) continue;
    EXPECT_GT(tally.found, tally.requests) << "tokens";
  }
  constexpr std::uint64_t kEnough = 10;
  if (std::getenv("WEFT_SEED") == nullptr && number_from("WEFT_SEEDS", kMore) >= kEnough) {
    EXPECT_GT(hollow_hits, 0U);
  }
}

TEST(SimulationTest, NothingIsLostOfModelsWithAWindowWhosePagesGoElsewhere) {
  const Tally in_places =
      simulate_all({.allocations = true, .windows = true, .places = true}, 2 * kSeeds);
  constexpr std::uint64_t kFewer = kSeeds / 5;  // they wait for a disk
  const Tally in_files = simulate_all({.windows = true, .files = true}, kFewer);
  if (std::getenv("WEFT_SEED") != nullptr || std::getenv("WEFT_SEEDS") != nullptr) return;
  EXPECT_GT(in_places.hollow_hits, 0U);
  EXPECT_GT(in_files.hollow_hits, 0U);
  EXPECT_GT(in_files.pages_read, 0U);
}

/// Each simulation compares every output with what the model gives without guesses.
void simulate_guesses(SimulationOptions options) {
  options.guesses = 4;
  const SimulatedModel::Guesses guesses = simulate_all(options).guesses;
  EXPECT_GT(guesses.right, 0U);
  EXPECT_LT(guesses.right, guesses.made);
  EXPECT_GT(guesses.unsure, guesses.entries / 10) << "plans wait for what is accepted";
  EXPECT_GT(guesses.drafts, guesses.entries / 20) << "most devices have a draft model";
  std::cout << guesses.entries << " entries with guesses, " << guesses.unsure
            << " that began where the device knew, " << guesses.right << " of " << guesses.made
            << " guesses right, " << guesses.drafts << " entries for a draft model\n";
}

TEST(SimulationTest, NothingIsLostOrTakenBackWhereDevicesGuess) {
  for (const std::int32_t stages : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    simulate_guesses({.allocations = true, .stages = stages});
  }
}

TEST(SimulationTest, NothingIsLostOrTakenBackWhereDevicesWithWindowsOrRanksGuess) {
  simulate_guesses({.allocations = true, .windows = true});
  simulate_guesses({.stages = 2, .ranks = 2});
}

/// The fake model's tokens depend on a row's state, so each output shows that its row had the right
/// one, wherever it began.
SimulatedModel::States simulate_states(SimulationOptions options) {
  options.state = true;
  const Tally tally = simulate_all(options);
  EXPECT_GT(tally.states.restored, 0U);
  std::cout << tally.states.kept << " snapshots, " << tally.states.restored << " restored, "
            << tally.states.from_host << " from host memory\n";
  return tally.states;
}

TEST(SimulationTest, NothingIsLostOfModelsWhoseRowsHaveState) {
  for (const std::int32_t stages : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    simulate_states({.allocations = true, .stages = stages});
  }
}

TEST(SimulationTest, NothingIsLostOfRanksWhoseRowsHaveState) {
  simulate_states({.stages = 2, .ranks = 2});
}

TEST(SimulationTest, NothingIsLostOfModelsWithAWindowWhoseRowsHaveState) {
  simulate_states({.allocations = true, .windows = true});
}

TEST(SimulationTest, NothingIsLostOfModelsWhoseRowsHaveStateThatGoesToHostMemory) {
  EXPECT_GT(simulate_states({.allocations = true, .places = true}).from_host, 0U);
  simulate_states({.allocations = true, .windows = true, .places = true});
}

/// Outputs of a wrong adapter, or from its pages, differ.
void simulate_adapters(SimulationOptions options) {
  options.adapters = true;
  const Tally tally = simulate_all(options);
  if (std::getenv("WEFT_SEED") != nullptr) return;
  EXPECT_GT(tally.adapter_loads, tally.requests / 50);
  std::cout << tally.adapter_loads << " adapters loaded\n";
}

TEST(SimulationTest, NothingIsLostOrSharedAmongAdaptersThatComeAndAreReplaced) {
  for (const std::int32_t stages : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    simulate_adapters({.allocations = true, .stages = stages});
  }
}

TEST(SimulationTest, NothingIsLostOfAdaptersOfRanksThatFailOrHang) {
  simulate_adapters({.stages = 2, .ranks = 2});
}

TEST(SimulationTest, NothingIsLostOfAdaptersOfModelsWithAWindowOrStateOrGuesses) {
  simulate_adapters({.windows = true, .guesses = 3});
  simulate_adapters({.state = true, .places = true});
  simulate_adapters({.encoder = true});
}

TEST(SimulationTest, NothingIsLostOfAdaptersOfModelsThatComeAndGo) {
  simulate_adapters({.allocations = true, .models = 2});
}

/// Each task ends once, no piece is lost or runs twice, and no request waits for training beyond
/// its bound.
void simulate_training(SimulationOptions options) {
  options.training = true;
  const Simulation::Training training = simulate_all(options).training;
  std::cout << training.tasks << " training tasks: " << training.done << " done, "
            << training.failed << " failed, " << training.cancelled << " cancelled, "
            << training.paused << " pauses; " << training.pieces << " pieces, " << training.beside
            << " beside rows, " << training.deferred << " while requests waited\n";
  if (std::getenv("WEFT_SEED") != nullptr) return;
  EXPECT_GT(training.done, number_from("WEFT_SEEDS", kSeeds));
  EXPECT_GT(training.failed, 0U);
  EXPECT_GT(training.cancelled, 0U);
  EXPECT_GT(training.beside, 0U);
  EXPECT_GT(training.deferred, 0U);
}

TEST(SimulationTest, NothingIsLostOrStarvesBesideTraining) { simulate_training({}); }

TEST(SimulationTest, NothingIsLostBesideTrainingWhenAllocationsFailAndTheClockJumps) {
  simulate_training({.allocations = true});
}

TEST(SimulationTest, NothingIsLostBesideTrainingOfDevicesWithStagesOrGuessesOrAdapters) {
  simulate_training({.stages = 2});
  simulate_training({.windows = true, .guesses = 3});
  simulate_training({.adapters = true});
}

TEST(SimulationTest, NothingIsLostBesideTrainingWhereFilesAreRead) {
  const Tally tally = simulate_all({.files = true, .training = true}, kSeeds / 5);
  if (std::getenv("WEFT_SEED") != nullptr) return;
  EXPECT_GT(tally.pages_read, 0U);
  EXPECT_GT(tally.training.done, 0U);
}

TEST(SimulationTest, ASeedReplaysBitByBit) {
  for (std::uint64_t seed = 1; seed <= kReplayed; ++seed) {
    Tally first;
    Tally second;
    simulate({.seed = seed, .allocations = true}, first);
    simulate({.seed = seed, .allocations = true}, second);
    EXPECT_EQ(first.digest, second.digest) << "seed " << seed;
    Tally third;
    Tally fourth;
    simulate({.seed = seed, .stages = 2, .ranks = 2}, third);
    simulate({.seed = seed, .stages = 2, .ranks = 2}, fourth);
    EXPECT_EQ(third.digest, fourth.digest) << "seed " << seed << " with ranks";
    Tally fifth;
    Tally sixth;
    simulate({.seed = seed, .models = 3}, fifth);
    simulate({.seed = seed, .models = 3}, sixth);
    EXPECT_EQ(fifth.digest, sixth.digest) << "seed " << seed << " with models";
    Tally seventh;
    Tally eighth;
    simulate({.seed = seed, .training = true}, seventh);
    simulate({.seed = seed, .training = true}, eighth);
    EXPECT_EQ(seventh.digest, eighth.digest) << "seed " << seed << " with training";
  }
}

}  // namespace
}  // namespace weft::test
