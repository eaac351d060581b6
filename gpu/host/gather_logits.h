#pragma once

#include "weft/gpu/host/host_state.h"
#include "weft/kernels/rows.h"
#include "weft/model/program/program.h"

namespace weft {

/// Takes the memory for what is told of logits, where a program shares its head, and the numbers
/// that it has room for.
void size_told_parts(HostStep& step, const Program& program, const DeviceOptions& options);

[[nodiscard]] std::int64_t told_numbers(const Program& program, const DeviceOptions& options);

/// Brings the columns that the ranks of a stage have of the logits to its first rank: all of those
/// outputs that need them (HostStep::needs), and of the others what tell_part() tells, from which
/// the first rank makes logits and HostStep::logprob_shifts. Where the parts are hardly longer than
/// that they are brought whole. Every rank of the stage calls it, with outputs of the same needs.
void gather_logits(const GatherOp& op, const ConstRows& part, const Rows& whole,
                   const ProgramPart& rank, HostStep& step, RankLink& link);

}  // namespace weft
