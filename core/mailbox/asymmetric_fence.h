#pragma once

#include <atomic>

namespace weft {

/// A pair of fences of which one side costs nothing. One thread stores and uses the light fence,
/// another stores and uses the heavy fence. Then at least one of the two sees the other's earlier
/// stores (Dekker's pattern). The heavy fence is Linux' membarrier(2) with
/// MEMBARRIER_CMD_PRIVATE_EXPEDITED: it interrupts the processors that run this process, so it
/// costs microseconds.
inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// To be called only where has_heavy_fence().
void heavy_fence() noexcept;

/// Returns false on kernels before 4.14 and where a sandbox forbids the call. Registers the process
/// at the first call; thread-safe.
[[nodiscard]] bool has_heavy_fence() noexcept;

}  // namespace weft
