#pragma once

#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/program/program.h"

namespace weft {

/// The identity of an adapter's content.
[[nodiscard]] AdapterId adapter_id(const Adapter& adapter) noexcept;

/// Returns for each of Program::adapter_sites the adapter's pair; null where it has none. Pairs for
/// tensors of other ranks, and for tensors that nobody computes with, are left out. kUnfit names
/// what is not computed beside a product and has to be merged into the weights: biases, tensors and
/// rows that replace the base's, DoRA's magnitudes, pairs for embeddings, heads and experts, and
/// ranks above Program::adapter_rank. `adapted` is of attach_adapters(). Thread-safe.
[[nodiscard]] Result<std::vector<const AdapterTarget*>> pairs_at_sites(const Adapter& adapter,
                                                                       const Program& adapted);

}  // namespace weft
