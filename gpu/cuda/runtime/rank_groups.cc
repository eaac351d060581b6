#include "weft/gpu/cuda/runtime/rank_groups.h"

#include <cstddef>
#include <numeric>

namespace weft::cuda {
namespace {

/// The ranks of stages [first, end).
std::vector<std::int32_t> ranks_of(const std::vector<std::int32_t>& widths, std::size_t first,
                                   std::size_t end) {
  const auto number = [&](std::size_t stage) {
    return rank_number(widths, static_cast<std::int32_t>(stage), 0);
  };
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(number(end) - number(first)));
  std::iota(ranks.begin(), ranks.end(), number(first));
  return ranks;
}

}  // namespace

std::int32_t rank_number(const std::vector<std::int32_t>& widths, std::int32_t stage,
                         std::int32_t rank) {
  return std::accumulate(widths.begin(), widths.begin() + stage, rank);
}

std::vector<NcclGroup> rank_groups(const std::vector<std::int32_t>& widths,
                                   const std::vector<bool>& on_host) {
  std::vector<NcclGroup> groups;
  const auto is_gpus = [&](std::size_t stage) { return on_host.empty() || !on_host[stage]; };
  const auto add = [&](GroupKind kind, std::size_t stage, std::vector<std::int32_t> ranks) {
    if (ranks.size() < 2) return;
    groups.push_back({kind, static_cast<std::int32_t>(stage), std::move(ranks)});
  };
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    if (is_gpus(stage)) add(GroupKind::kStage, stage, ranks_of(widths, stage, stage + 1));
  }
  for (std::size_t stage = 0; stage + 1 < widths.size(); ++stage) {
    if (!is_gpus(stage) || !is_gpus(stage + 1)) continue;
    add(GroupKind::kStream, stage, ranks_of(widths, stage, stage + 2));
  }
  if (!is_gpus(0) || !is_gpus(widths.size() - 1)) return groups;
  // The last stage's first rank chooses tokens, and the first stage's ranks are fed them.
  std::vector<std::int32_t> tokens = {
      rank_number(widths, static_cast<std::int32_t>(widths.size()) - 1, 0)};
  for (const std::int32_t rank : ranks_of(widths, 0, 1)) {
    if (rank != tokens.front()) tokens.push_back(rank);
  }
  add(GroupKind::kTokens, widths.size() - 1, std::move(tokens));
  return groups;
}

}  // namespace weft::cuda
