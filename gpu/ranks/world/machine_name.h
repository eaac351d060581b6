#pragma once

#include <string>

namespace weft {

/// Returns the same name for all processes that share this machine's memory and processors, and a
/// different name for others. It identifies the machine, its boot and its container.
[[nodiscard]] std::string machine_name();

}  // namespace weft
