#pragma once

#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/program/program.h"

namespace weft {

/// The identity of an adapter's content.
[[nodiscard]] AdapterId adapter_id(const Adapter& adapter) noexcept;

/// Returns the adapter's pair for each of Program::adapter_sites; null if the adapter has none.
/// Pairs for tensors of other ranks, and for tensors that the program does not use, are left out.
/// `adapted` comes from attach_adapters(). kUnfit names the parts of an adapter that must be merged
/// into the weights: biases, tensors and rows that replace the base's, DoRA's magnitudes, pairs for
/// embeddings, heads and experts, and ranks above Program::adapter_rank. Thread-safe.
[[nodiscard]] Result<std::vector<const AdapterTarget*>> pairs_at_sites(const Adapter& adapter,
                                                                       const Program& adapted);

}  // namespace weft
