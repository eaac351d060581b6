#pragma once

#include <cstddef>

namespace weft::cli {

/// Lets the process open as many files as it may, and returns how many of `wanted` connections at
/// once it has room for beside its own files: at least one.
[[nodiscard]] std::size_t connections_at_once(std::size_t wanted);

}  // namespace weft::cli
