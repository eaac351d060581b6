#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

/// The instruction sets that ops of the host are compiled for, from the poorest to the best.
enum class CpuTarget : std::uint8_t {
  kPortable,    ///< what every processor of this architecture has
  kAvx2,        ///< with FMA and F16C
  kAvx512,      ///< F, BW, DQ, VL
  kAvx512Bf16,  ///< and products of bf16 and of int8 (AVX512-BF16, AVX512-VNNI)
};

/// "portable", "avx2", "avx512", "avx512_bf16".
[[nodiscard]] std::string_view to_string(CpuTarget target) noexcept;

/// Those that this processor and system can run, ascending. Thread-safe.
[[nodiscard]] std::span<const CpuTarget> available_cpu_targets() noexcept;

/// The one that ops run on: the best available, unless a ForcedCpuTarget lives. Thread-safe.
[[nodiscard]] CpuTarget cpu_target() noexcept;

/// For tests and benches: while it lives, all ops of the process run on `target`, those that
/// dispatch through Highway included. An unavailable target is internal_error. One at a time, and
/// no op runs while it comes or goes.
class ForcedCpuTarget {
 public:
  explicit ForcedCpuTarget(CpuTarget target);
  ForcedCpuTarget(const ForcedCpuTarget&) = delete;
  ForcedCpuTarget& operator=(const ForcedCpuTarget&) = delete;
  ~ForcedCpuTarget();
};

}  // namespace weft
