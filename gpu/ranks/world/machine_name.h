#pragma once

#include <string>

namespace weft {

/// The same for all processes that have this machine's memory and processors in common, and for no
/// others: which start of which machine it is, and which container of it.
[[nodiscard]] std::string machine_name();

}  // namespace weft
