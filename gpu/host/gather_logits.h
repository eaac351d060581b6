#pragma once

#include "weft/gpu/host/host_state.h"
#include "weft/kernels/rows.h"
#include "weft/model/program/program.h"

namespace weft {

/// Allocates the memory for summaries of logits if a program shares its head.
void size_told_parts(HostStep& step, const Program& program, const DeviceOptions& options);

[[nodiscard]] std::int64_t told_numbers(const Program& program, const DeviceOptions& options);

/// Sends the stage's columns of logits to its first rank. Outputs that need all logits
/// (HostStep::needs) are sent whole. For the others each rank sends its summary (tell_part()), from
/// which the first rank makes logits and HostStep::logprob_shifts. If the columns are hardly longer
/// than a summary, all outputs are sent whole. Every rank of the stage calls it, with the same
/// needs.
void gather_logits(const GatherOp& op, const ConstRows& part, const Rows& whole,
                   const ProgramPart& rank, HostStep& step, RankLink& link);

}  // namespace weft
