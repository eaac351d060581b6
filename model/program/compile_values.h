#pragma once

#include "weft/core/error/error.h"
#include "weft/model/program/program.h"

namespace weft {

/// Compiles a whole model as compile() does, but leaves each value in a buffer of its own: one op
/// writes each buffer, and no memory is planned. For passes that go through the ops backwards.
/// Errors of compile().
[[nodiscard]] Result<Program> compile_values(const Architecture& architecture,
                                             const Checkpoint& checkpoint);

}  // namespace weft
