#pragma once

#include <cstdint>

#include "weft/model/program/program.h"

namespace weft {

/// Makes the adapted program of a compiled program, for steps in which some row has an adapter that
/// is not merged. It has the same weights, and gives the same results for rows without an adapter.
/// `rank` is the greatest rank of a pair; it is rounded up to kAdapterRankGrain
/// (Program::adapter_rank).
///
/// Each product of the layers gets an AdapterExpandOp before it, which adds B low to the product's
/// residual. So products, norms and sums of ranks stay as they are, and a rank's pairs are cut like
/// its matrices. One AdapterShrinkOp computes `low` for neighbouring products of one input. A
/// product with an activation is cut: it writes the sums alone, and an ActivateOp does the rest.
/// Embeddings, heads and experts' products have no adapters.
///
/// Buffers of `program` keep their ids. Their places suit the ops of both programs, so a device
/// runs both over one memory of the adapted program's size. `alignment` is as in plan_buffers().
[[nodiscard]] Program attach_adapters(const Program& program, std::int64_t rank,
                                      std::int64_t alignment = 16);

}  // namespace weft
