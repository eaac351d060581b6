#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/load_progress.h"

namespace weft {

/// Calls work(rank) for all ranks at once, each on its own thread, and returns when all have
/// returned. Returns the first error, because later errors may only report a lost rank. Calls
/// `failed` for each rank that fails, on its thread.
[[nodiscard]] Result<void> on_all_ranks(std::size_t ranks,
                                        const std::function<Result<void>(std::size_t rank)>& work,
                                        const std::function<void(std::size_t rank)>& failed = {});

/// As above with work(rank, progress); `progress` gets the sum over all ranks.
[[nodiscard]] Result<void> on_all_ranks(
    std::size_t ranks, const LoadProgress& progress,
    const std::function<Result<void>(std::size_t rank, const LoadProgress& progress)>& work);

/// Returns the results of load(rank, progress) for each rank.
template <class Made, class Load>
[[nodiscard]] Result<std::vector<std::unique_ptr<Made>>> load_at_once(std::size_t ranks,
                                                                      const LoadProgress& progress,
                                                                      const Load& load) {
  std::vector<std::unique_ptr<Made>> all(ranks);
  const auto work = [&](std::size_t rank, const LoadProgress& own) -> Result<void> {
    auto made = load(rank, own);
    if (!made) return made.error();
    all[rank] = *std::move(made);
    return {};
  };
  if (const auto loaded = on_all_ranks(ranks, progress, work); !loaded) return loaded.error();
  return all;
}

}  // namespace weft
