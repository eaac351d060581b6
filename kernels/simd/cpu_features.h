#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

/// The instruction sets that the host's ops are compiled for, from the baseline to the best.
enum class CpuTarget : std::uint8_t {
  kPortable,    ///< the baseline of this architecture: on ARM64 NEON
  kNeonDot,     ///< also products of int8 (ARM64's DotProd)
  kNeonI8mm,    ///< also products of two rows of int8 by two (ARM64's I8MM)
  kNeonBf16,    ///< also products of two rows of bf16 by two (ARM64's BF16)
  kAvx2,        ///< with FMA and F16C
  kAvx2Vnni,    ///< also products of int8 (AVX-VNNI)
  kAvx512,      ///< F, BW, DQ, VL
  kAvx512Vnni,  ///< also products of int8 (AVX512-VNNI)
  kAvx512Bf16,  ///< also products of bf16 (AVX512-BF16)
  kAvx512Amx,   ///< also products of tiles of int8 and bf16 (AMX)
};

/// Whether the target has VPDPBUSD or SDOT.
[[nodiscard]] constexpr bool multiplies_int8(CpuTarget target) noexcept {
  return target == CpuTarget::kNeonDot || target == CpuTarget::kNeonI8mm ||
         target == CpuTarget::kNeonBf16 || target == CpuTarget::kAvx2Vnni ||
         target >= CpuTarget::kAvx512Vnni;
}

/// Whether the target has SMMLA.
[[nodiscard]] constexpr bool multiplies_int8_by_twos(CpuTarget target) noexcept {
  return target == CpuTarget::kNeonI8mm || target == CpuTarget::kNeonBf16;
}

/// Whether the target has VDPBF16PS or BFMMLA.
[[nodiscard]] constexpr bool multiplies_bf16(CpuTarget target) noexcept {
  return target == CpuTarget::kNeonBf16 || target >= CpuTarget::kAvx512Bf16;
}

/// Returns "portable", "neon_dot", "neon_i8mm", "neon_bf16", "avx2", "avx2_vnni", "avx512",
/// "avx512_vnni", "avx512_bf16" or "avx512_amx".
[[nodiscard]] std::string_view to_string(CpuTarget target) noexcept;

/// Returns the targets that this processor and system can run, ascending, possibly with gaps. The
/// first call asks the system for AMX (amx_tiles.h). Thread-safe.
[[nodiscard]] std::span<const CpuTarget> available_cpu_targets() noexcept;

/// Returns the target that ops run on: the best, unless a ForcedCpuTarget lives. Thread-safe.
[[nodiscard]] CpuTarget cpu_target() noexcept;

/// For tests and benches: while it lives, all ops of the process run on `target`, also ops that
/// dispatch through Highway. An unavailable target is internal_error. Only one may live at a time,
/// and no op may run while it is constructed or destroyed.
class ForcedCpuTarget {
 public:
  explicit ForcedCpuTarget(CpuTarget target);
  ForcedCpuTarget(const ForcedCpuTarget&) = delete;
  ForcedCpuTarget& operator=(const ForcedCpuTarget&) = delete;
  ~ForcedCpuTarget();
};

}  // namespace weft
