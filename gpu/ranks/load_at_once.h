#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/load_progress.h"

namespace weft {

/// Calls work(rank) for all ranks at once, each on a thread of its own, and returns when all have
/// returned. Returns the first error: later ones may only say that a rank was lost. `failed` is
/// called for each rank that fails, on its thread.
[[nodiscard]] Result<void> on_all_ranks(std::size_t ranks,
                                        const std::function<Result<void>(std::size_t rank)>& work,
                                        const std::function<void(std::size_t rank)>& failed = {});

/// Does the same with work(rank, progress); `progress` is told the sum over all ranks.
[[nodiscard]] Result<void> on_all_ranks(
    std::size_t ranks, const LoadProgress& progress,
    const std::function<Result<void>(std::size_t rank, const LoadProgress& progress)>& work);

/// Returns what load(rank, progress) makes for each rank.
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
