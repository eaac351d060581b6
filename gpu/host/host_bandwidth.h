#pragma once

namespace weft {

/// Returns the bytes per second that `threads` threads read together from memory far larger than
/// the caches: the best of a few passes. See measure_read_bandwidth.
[[nodiscard]] double host_read_bandwidth(int threads);

}  // namespace weft
