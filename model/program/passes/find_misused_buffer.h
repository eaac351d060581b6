#pragma once

#include <string>

#include "weft/model/program/program.h"

namespace weft {

/// Checks the assumptions of passes before share_buffers(). One op writes each buffer, before any
/// op reads it. No later op reads InPlace::before, and it has the shape of InPlace::after. Results
/// are written. Returns the first violation with its op and buffer; empty if there is none.
[[nodiscard]] std::string find_misused_buffer(const Program& program);

}  // namespace weft
