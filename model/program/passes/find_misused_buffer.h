#pragma once

#include <string>

#include "weft/model/program/program.h"

namespace weft {

/// Checks what passes rely on before share_buffers(): one op writes each buffer, before any op
/// reads it; what an op changes where it is (InPlace) is read by no op behind it, and has the shape
/// of what it becomes; results are written. Returns what is wrong first, with op and buffer; empty
/// where nothing is.
[[nodiscard]] std::string find_misused_buffer(const Program& program);

}  // namespace weft
