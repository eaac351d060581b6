#pragma once

#include <string>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// A checkpoint whose tensor `name` has rows of length 1: each row is divided by its length when it
/// is read, on the thread that reads it. Name, type and shape of the tensor stay. kBadTensor where
/// it is missing, encoded or no matrix.
[[nodiscard]] Result<Checkpoint> with_unit_rows(const Checkpoint& checkpoint,
                                                const std::string& name);

}  // namespace weft
