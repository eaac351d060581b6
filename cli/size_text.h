#pragma once

#include <cstdint>
#include <string>

namespace weft::cli {

/// Returns a number of bytes as people read it: "480 B", "1.25 MiB".
[[nodiscard]] std::string size_text(std::int64_t bytes);

}  // namespace weft::cli
