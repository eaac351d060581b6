#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "weft/schedule/rows/row_shuffle.h"

/// Histories of rows whose sequences begin and end, under different ways of keeping the running
/// rows contiguous.
namespace weft::bench {

/// Plans moves and returns the region, as shuffle_rows does.
using Planner = RowRegion (*)(std::span<const std::int64_t>, std::vector<PlanMove>&);

/// The naive compaction: every row goes down to the lowest one that is free, in order.
inline RowRegion shift_left(std::span<const std::int64_t> costs, std::vector<PlanMove>& moves) {
  std::int32_t to = 0;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    if (costs[row] == 0) continue;
    if (static_cast<std::size_t>(to) != row) moves.push_back({static_cast<std::int32_t>(row), to});
    ++to;
  }
  return {0, to};
}

/// A better compaction: the last rows go to the first holes. The region always begins at row 0, so
/// costs do not matter.
inline RowRegion fill_from_the_end(std::span<const std::int64_t> costs,
                                   std::vector<PlanMove>& moves) {
  const auto running = static_cast<std::size_t>(
      std::ranges::count_if(costs, [](std::int64_t cost) { return cost != 0; }));
  std::size_t hole = 0;
  for (std::size_t row = running; row < costs.size(); ++row) {
    if (costs[row] == 0) continue;
    while (costs[hole] != 0) ++hole;
    moves.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(hole++)});
  }
  return {0, static_cast<std::int32_t>(running)};
}

/// How the KV cache is laid out, which decides what a move of a row costs.
struct Layout {
  std::int64_t bytes_of_row;     // bytes that move at any length
  std::int64_t tokens_of_entry;  // tokens of one entry; an incomplete entry moves, too
  std::int64_t bytes_of_entry;

  [[nodiscard]] std::int64_t bytes(std::int64_t tokens) const {
    return bytes_of_row + (tokens + tokens_of_entry - 1) / tokens_of_entry * bytes_of_entry;
  }
};
/// Pages of 16 tokens: a row's dense state and its page table move, the KV does not.
inline constexpr Layout kPageLayout{64, 16, 4};
/// One slab a row: all its KV moves. 4 KiB a token is a small model's: 8 layers, 2 KV heads of 64,
/// bf16.
inline constexpr Layout kSlabLayout{64, 1, 4096};

/// A tick's shuffle: the costs before the moves, in bytes.
struct ShuffleTick {
  std::vector<std::int64_t> costs;
  std::vector<PlanMove> moves;
};

/// Rows of sequences that get one token each in a tick.
class RowHistory {
 public:
  RowHistory(std::size_t rows, const Layout& layout, Planner planner)
      : rows_(rows), layout_(layout), planner_(planner) {}

  [[nodiscard]] std::int32_t running() const noexcept { return region_.count; }
  /// Returns the rows from the first to the last running one: the rows that a step without a
  /// shuffle computes.
  [[nodiscard]] std::int64_t span() const {
    const auto runs = [](const Row& row) { return row.left > 0; };
    const auto first = std::ranges::find_if(rows_, runs);
    const auto last = std::find_if(rows_.rbegin(), rows_.rend(), runs);
    return first == rows_.end() ? 0 : last.base() - first;
  }

  /// Adds a sequence: in a hole of the region, right behind it, or right before it. Returns false
  /// where no row is free.
  bool join(std::int64_t prompt, std::int64_t output) {
    const auto is_free = [](const Row& row) { return row.left == 0; };
    const auto first = rows_.begin() + region_.first;
    auto place = std::find_if(first, rows_.end(), is_free);
    if (place == rows_.end()) {
      const auto before = std::find_if(std::reverse_iterator(first), rows_.rend(), is_free);
      if (before == rows_.rend()) return false;
      place = std::prev(before.base());
    }
    *place = {prompt, output};
    return true;
  }

  /// Gives every sequence its next token and removes sequences that end.
  void decode() {
    for (Row& row : rows_) {
      if (row.left == 0) continue;
      ++row.tokens;
      --row.left;
    }
  }

  /// Makes the rows contiguous.
  ShuffleTick shuffle() {
    ShuffleTick tick;
    for (const Row& row : rows_) {
      tick.costs.push_back(row.left > 0 ? layout_.bytes(row.tokens) : 0);
    }
    region_ = planner_(tick.costs, tick.moves);
    for (const PlanMove& move : tick.moves) {
      rows_[static_cast<std::size_t>(move.to)] = rows_[static_cast<std::size_t>(move.from)];
      rows_[static_cast<std::size_t>(move.from)] = {};
    }
    return tick;
  }

 private:
  struct Row {
    std::int64_t tokens = 0;
    std::int64_t left = 0;  // tokens that are left; 0: the row is free
  };

  std::vector<Row> rows_;
  Layout layout_;
  Planner planner_;
  RowRegion region_;
};

/// Returns the ticks that move rows, for a server that is three quarters full: Poisson arrivals,
/// prompts of 16 to 128 tokens and outputs of 16 to 512.
inline std::vector<ShuffleTick> served_ticks(std::size_t rows, const Layout& layout,
                                             Planner planner, int ticks) {
  std::mt19937 random(42);
  std::uniform_int_distribution<std::int64_t> prompt(16, 128);
  std::uniform_int_distribution<std::int64_t> output(16, 512);
  std::poisson_distribution<int> arrivals(0.75 * static_cast<double>(rows) / 264);
  RowHistory history(rows, layout, planner);
  for (std::size_t row = 0; row < rows * 3 / 4; ++row) {
    history.join(prompt(random), 1 + static_cast<std::int64_t>(random() % 512));
  }
  std::vector<ShuffleTick> found;
  for (int tick = 0; tick < ticks; ++tick) {
    history.decode();
    for (int i = arrivals(random); i > 0; --i) {
      const std::int64_t tokens = prompt(random);
      history.join(tokens, output(random));
    }
    found.push_back(history.shuffle());
    if (found.back().moves.empty()) found.pop_back();
  }
  return found;
}

}  // namespace weft::bench
