#pragma once

#include <string>

#include "weft/model/program/program.h"

namespace weft {

/// Checks what passes rely on before share_buffers(): one op writes each buffer, before any op
/// reads it; InPlace::before is read by no later op, and has the shape of InPlace::after; results
/// are written. Returns the first mistake with its op and buffer; an empty text where there is
/// none.
[[nodiscard]] std::string find_misused_buffer(const Program& program);

}  // namespace weft
