#pragma once

#include <atomic>

namespace weft {

/// A pair of fences of which one side costs nothing: what each of two threads has stored before its
/// fence, the other sees after its own, or the other way round (Dekker's pattern), when one of them
/// uses the light fence and the other the heavy one. The heavy one is Linux' membarrier(2) with
/// MEMBARRIER_CMD_PRIVATE_EXPEDITED: it interrupts the processors that run this process, so it
/// costs microseconds.
inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// To be called only where has_heavy_fence().
void heavy_fence() noexcept;

/// Returns false on kernels before 4.14 and where a sandbox forbids the call. Registers the process
/// at the first call; thread-safe.
[[nodiscard]] bool has_heavy_fence() noexcept;

}  // namespace weft
