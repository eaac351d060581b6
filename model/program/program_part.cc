#include "weft/model/program/program_part.h"

#include <numeric>

namespace weft {
namespace {

/// Returns run `index` when `count` items are divided into `shares` runs.
Extent run_of(std::int64_t count, std::int64_t index, std::int64_t shares) {
  const std::int64_t first = count * index / shares;
  return {first, count * (index + 1) / shares - first};
}

/// Returns the number of heads that together make a multiple of the grain.
std::int64_t heads_together(std::int64_t head_size, std::int64_t grain) {
  return std::lcm(head_size, grain) / head_size;
}

}  // namespace

std::optional<Extent> share_of(std::int64_t count, std::int64_t grain, const ProgramPart& part) {
  if (grain < 1 || count % grain != 0 || count / grain < part.ranks) return std::nullopt;
  const Extent run = run_of(count / grain, part.rank, part.ranks);
  return Extent{run.first * grain, run.count * grain};
}

std::optional<HeadShare> share_heads(const HeadShape& shape, std::int64_t grain,
                                     const ProgramPart& part) {
  const std::int64_t group = shape.heads / shape.kv_heads;
  if (grain < 1 || shape.heads % shape.kv_heads != 0) return std::nullopt;
  const std::int64_t together = heads_together(shape.head_size, grain);
  if (shape.kv_heads >= part.ranks) {
    const auto kv = share_of(shape.kv_heads, std::lcm(group, together) / group, part);
    if (!kv) return std::nullopt;
    return HeadShare{{kv->first * group, kv->count * group}, *kv};
  }
  // With more ranks than KV heads, several ranks have the same KV head and share its queries.
  if (part.ranks % shape.kv_heads != 0) return std::nullopt;
  ProgramPart own = part;
  own.ranks = part.ranks / shape.kv_heads;
  own.rank = part.rank % own.ranks;
  const std::int64_t kv_head = part.rank / own.ranks;
  const auto queries = share_of(group, together, own);
  if (!queries) return std::nullopt;
  return HeadShare{{kv_head * group + queries->first, queries->count}, {kv_head, 1}};
}

}  // namespace weft
