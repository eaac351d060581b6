#include "weft/gpu/host/gather_logits.h"

#include <algorithm>
#include <cstddef>

#include "weft/gpu/ranks/rank_link.h"
#include "weft/sampling/part_summary.h"

namespace weft {
namespace {

template <class AnyRows>
AnyRows some_rows(const AnyRows& rows, std::int64_t first, std::int64_t count) {
  if (rows.data == nullptr) return rows;  // a rank that receives nothing
  return {rows.row(first), count, rows.width, rows.stride};
}

bool needs_all(const HostStep& step, std::int64_t output) {
  return step.needs[static_cast<std::size_t>(output)] == LogitNeeds::kAll;
}

/// Gathers consecutive outputs that need all logits, in one message each.
void gather_whole(const GatherOp& op, const ConstRows& part, const Rows& whole,
                  const HostStep& step, RankLink& link) {
  for (std::int64_t first = 0; first < part.count;) {
    std::int64_t end = first;
    while (end < part.count && needs_all(step, end)) ++end;
    if (end > first) {
      link.gather(some_rows(part, first, end - first), op.columns,
                  some_rows(whole, first, end - first));
    }
    first = end + 1;
  }
}

}  // namespace

void size_told_parts(HostStep& step, const Program& program, const DeviceOptions& options) {
  if (!program.shares_head) return;
  const ProgramPart& part = program.part;
  const auto outputs = static_cast<std::size_t>(options.max_outputs);
  const auto numbers = static_cast<std::size_t>(kPartNumbers);
  step.told.resize(outputs * numbers);
  for (std::int32_t i = 0; i < part.ranks; ++i) {
    step.told_columns.push_back({i * kPartNumbers, kPartNumbers});
  }
  if (part.rank > 0) return;
  step.told_by_all.resize(outputs * numbers * static_cast<std::size_t>(part.ranks));
  step.logprob_shifts.resize(outputs);
}

std::int64_t told_numbers(const Program& program, const DeviceOptions& options) {
  if (!program.shares_head) return 0;
  const ProgramPart& part = program.part;
  const std::int64_t of_output = part.rank > 0 ? kPartNumbers : (1 + part.ranks) * kPartNumbers + 1;
  return options.max_outputs * of_output;
}

void gather_logits(const GatherOp& op, const ConstRows& part, const Rows& whole,
                   const ProgramPart& rank, HostStep& step, RankLink& link) {
  std::ranges::fill(step.logprob_shifts, 0.0F);
  const std::int64_t widest = std::ranges::max(op.columns, {}, &Extent::count).count;
  if (step.needs.empty() || widest <= kPartNumbers) return link.gather(part, op.columns, whole);
  gather_whole(op, part, whole, step, link);
  Rows told{step.told.data(), 0, kPartNumbers, kPartNumbers};
  const std::int64_t first = op.columns[static_cast<std::size_t>(rank.rank)].first;
  for (std::int64_t i = 0; i < part.count; ++i) {
    if (needs_all(step, i)) continue;
    tell_part({part.row(i), static_cast<std::size_t>(part.width)}, first,
              step.needs[static_cast<std::size_t>(i)],
              {told.row(told.count++), static_cast<std::size_t>(kPartNumbers)});
  }
  if (told.count == 0) return;
  const std::int64_t width = kPartNumbers * rank.ranks;
  const bool joins = whole.data != nullptr;
  const Rows all = joins ? Rows{step.told_by_all.data(), told.count, width, width} : Rows{};
  link.gather(told, step.told_columns, all);
  if (!joins) return;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < part.count; ++i) {
    if (needs_all(step, i)) continue;
    step.logprob_shifts[static_cast<std::size_t>(i)] = join_parts(
        {all.row(next++), static_cast<std::size_t>(width)}, step.needs[static_cast<std::size_t>(i)],
        {whole.row(i), static_cast<std::size_t>(whole.width)});
  }
}

}  // namespace weft
