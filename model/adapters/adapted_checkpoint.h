#pragma once

#include <cstdint>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// The type of tensors that an adapter changes.
enum class AdaptedType : std::uint8_t {
  kStored,  ///< the base's own, to which the sums are rounded
  kF32,     ///< not rounded, for what is encoded afterwards
};

/// Returns the base with the adapter merged into its tensors, whose names and shapes stay. Sums are
/// computed in f32 when a tensor is read, on the reading thread, so no second copy of a weight is
/// held. `adapter` is bound to `base`, and both stay open. kBadAdapter if a changed tensor is
/// encoded. Reading a changed tensor fails with kBadAdapter if a sum is beyond the range of its
/// type, or if DoRA scales an output of length 0.
[[nodiscard]] Result<Checkpoint> adapted_checkpoint(const Checkpoint& base,
                                                    const std::shared_ptr<const Adapter>& adapter,
                                                    AdaptedType type);

}  // namespace weft
