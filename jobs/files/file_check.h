#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// Checks training data line by line as far as that needs no model (check_training_line), and
/// returns the number of its examples. kBadFile naming line and field: a line that is no example,
/// bytes that are not UTF-8, a file without an example.
[[nodiscard]] Result<std::int64_t> check_training_data(std::string_view text);

}  // namespace weft
