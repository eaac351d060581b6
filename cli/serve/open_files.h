#pragma once

#include <cstddef>

namespace weft::cli {

/// Lets the process open as many files as the system allows, and returns how many of `wanted`
/// connections at once fit beside its own files: at least one.
[[nodiscard]] std::size_t connections_at_once(std::size_t wanted);

}  // namespace weft::cli
