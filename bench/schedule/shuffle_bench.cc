// The shuffle of rows (Flover, Algorithm 3) against the naive compaction to the left: what planning
// costs, how many rows and bytes move, how long the moves take; and Flover's experiment with
// requests of different lengths (section VI.D).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/bench/schedule/row_history.h"
#include "weft/schedule/rows/row_shuffle.h"

namespace weft {
namespace {

using bench::Layout;
using bench::Planner;
using bench::RowHistory;
using bench::ShuffleTick;

// --- Planning.

constexpr std::size_t kPatterns = 64;

double plan_all(const std::vector<std::vector<std::int64_t>>& patterns, Planner planner,
                int repeats) {
  std::vector<PlanMove> moves;
  moves.reserve(patterns.front().size());
  return bench::seconds([&] {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (const auto& costs : patterns) {
        moves.clear();
        benchmark::DoNotOptimize(planner(costs, moves));
        benchmark::DoNotOptimize(moves.data());
      }
    }
  });
}

/// `ratio`: the time to plan the shuffle over that to plan the naive compaction. One row of eight
/// is free.
void plan(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  std::mt19937 random(1);
  std::vector<std::vector<std::int64_t>> patterns(kPatterns, std::vector<std::int64_t>(rows));
  for (auto& costs : patterns) {
    for (auto& cost : costs) cost = random() % 8 == 0 ? 0 : 64 + static_cast<int>(random() % 2000);
  }
  const int repeats = static_cast<int>(400'000 / rows);
  bench::compare(
      state, static_cast<double>(kPatterns) * repeats,
      [&] { return plan_all(patterns, &shuffle_rows, repeats); },
      [&] { return plan_all(patterns, &bench::shift_left, repeats); });
}

// --- Moving, while requests come and end.

struct Moved {
  double rows = 0;
  double bytes = 0;
};

Moved moved_in(const std::vector<ShuffleTick>& ticks) {
  Moved moved;
  for (const ShuffleTick& tick : ticks) {
    moved.rows += static_cast<double>(tick.moves.size());
    for (const PlanMove& move : tick.moves) {
      moved.bytes += static_cast<double>(tick.costs[static_cast<std::size_t>(move.from)]);
    }
  }
  return moved;
}

/// Buffers of the rows, and a replay that plans and copies.
class RowBuffers {
 public:
  RowBuffers(std::size_t rows, const Layout& layout)
      : stride_(static_cast<std::size_t>(layout.bytes(128 + 512))), memory_(rows * stride_, 'x') {}

  double replay(const std::vector<ShuffleTick>& ticks, Planner planner) {
    return bench::seconds([&] {
      for (const ShuffleTick& tick : ticks) {
        moves_.clear();
        benchmark::DoNotOptimize(planner(tick.costs, moves_));
        for (const PlanMove& move : moves_) {
          const auto from = static_cast<std::size_t>(move.from);
          std::memcpy(&memory_[static_cast<std::size_t>(move.to) * stride_],
                      &memory_[from * stride_], static_cast<std::size_t>(tick.costs[from]));
        }
        benchmark::ClobberMemory();
      }
    });
  }

 private:
  std::size_t stride_;
  std::vector<char> memory_;
  std::vector<PlanMove> moves_;
};

/// `ratio`: the time to plan and move over that of the naive compaction, in a server three quarters
/// full; moved_rows and moved_bytes are ratios of the same two, the _end ones to filling holes from
/// the end. `KiB`: what a shuffle moves.
void move_rows(benchmark::State& state, const Layout& layout, int history) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto ours = bench::served_ticks(rows, layout, &shuffle_rows, history);
  const auto shifted = bench::served_ticks(rows, layout, &bench::shift_left, history);
  const auto filled = bench::served_ticks(rows, layout, &bench::fill_from_the_end, history);
  RowBuffers buffers(rows, layout);
  bench::compare(
      state, history, [&] { return buffers.replay(ours, &shuffle_rows); },
      [&] { return buffers.replay(shifted, &bench::shift_left); });
  const Moved moved = moved_in(ours);
  state.counters["moved_rows"] = moved.rows / moved_in(shifted).rows;
  state.counters["moved_bytes"] = moved.bytes / moved_in(shifted).bytes;
  state.counters["moved_rows_end"] = moved.rows / moved_in(filled).rows;
  state.counters["moved_bytes_end"] = moved.bytes / moved_in(filled).bytes;
  state.counters["KiB"] = moved.bytes / static_cast<double>(ours.size()) / 1024;
}

void move_pages(benchmark::State& state) { move_rows(state, bench::kPageLayout, 2000); }
void move_slabs(benchmark::State& state) { move_rows(state, bench::kSlabLayout, 400); }

// --- Requests of different lengths, all at once.

/// 32 requests of 128 .. range(0) tokens that begin together, as in Flover's figure 6, averaged
/// over 100 draws. `computed`: rows that steps compute without a shuffle (from the first to the
/// last that runs) over those that run, which is what they compute with it. `rewritten`: KV bytes
/// that the slab layout moves over those it writes, with the shuffle; `rewritten_shift` with the
/// naive compaction.
void drain(benchmark::State& state) {
  double computed = 0;
  double running = 0;
  Moved ours;
  Moved shifted;
  while (state.KeepRunning()) {
    std::mt19937 random(6);
    std::uniform_int_distribution<std::int64_t> length(128, state.range(0));
    for (int draw = 0; draw < 100; ++draw) {
      RowHistory still(32, bench::kSlabLayout, &shuffle_rows);
      RowHistory shuffled(32, bench::kSlabLayout, &shuffle_rows);
      RowHistory compact(32, bench::kSlabLayout, &bench::shift_left);
      for (int row = 0; row < 32; ++row) {
        const std::int64_t tokens = length(random);
        for (RowHistory* history : {&still, &shuffled, &compact}) history->join(0, tokens);
      }
      for (shuffled.shuffle(); shuffled.running() > 0;) {
        computed += static_cast<double>(still.span());
        running += shuffled.running();
        for (RowHistory* history : {&still, &shuffled, &compact}) history->decode();
        const Moved by_ours = moved_in({shuffled.shuffle()});
        const Moved by_shift = moved_in({compact.shuffle()});
        ours = {ours.rows + by_ours.rows, ours.bytes + by_ours.bytes};
        shifted = {shifted.rows + by_shift.rows, shifted.bytes + by_shift.bytes};
      }
    }
  }
  const double written = running * static_cast<double>(bench::kSlabLayout.bytes_of_entry);
  state.counters["computed"] = computed / running;
  state.counters["rewritten"] = ours.bytes / written;
  state.counters["rewritten_shift"] = shifted.bytes / written;
  state.counters["moved_rows"] = ours.rows / shifted.rows;
  state.counters["moved_bytes"] = ours.bytes / shifted.bytes;
}

BENCHMARK(plan)->RangeMultiplier(4)->Range(16, 1024)->Iterations(bench::kPairs)->UseManualTime();
BENCHMARK(move_pages)
    ->RangeMultiplier(4)
    ->Range(16, 1024)
    ->Iterations(bench::kPairs)
    ->UseManualTime();
BENCHMARK(move_slabs)->Arg(16)->Arg(64)->Arg(256)->Iterations(bench::kPairs)->UseManualTime();
BENCHMARK(drain)->Arg(256)->Arg(512)->Arg(1024)->Arg(2048)->Iterations(1);

}  // namespace
}  // namespace weft
