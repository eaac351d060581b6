#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

/// The instruction sets that ops of the host are compiled for, from the poorest to the best.
enum class CpuTarget : std::uint8_t {
  kPortable,    ///< what every processor of this architecture has: on ARM64 NEON
  kNeonDot,     ///< and products of int8 (ARM64's DotProd)
  kNeonI8mm,    ///< and of two rows of int8 by two (ARM64's I8MM)
  kNeonBf16,    ///< and of two rows of bf16 by two (ARM64's BF16)
  kAvx2,        ///< with FMA and F16C
  kAvx2Vnni,    ///< and products of int8 (AVX-VNNI)
  kAvx512,      ///< F, BW, DQ, VL
  kAvx512Vnni,  ///< and products of int8 (AVX512-VNNI)
  kAvx512Bf16,  ///< and of bf16 (AVX512-BF16)
  kAvx512Amx,   ///< and of tiles of both (AMX)
};

/// Whether it has VPDPBUSD, or SDOT.
[[nodiscard]] constexpr bool multiplies_int8(CpuTarget target) noexcept {
  return target == CpuTarget::kNeonDot || target == CpuTarget::kNeonI8mm ||
         target == CpuTarget::kNeonBf16 || target == CpuTarget::kAvx2Vnni ||
         target >= CpuTarget::kAvx512Vnni;
}

/// Whether it has SMMLA.
[[nodiscard]] constexpr bool multiplies_int8_by_twos(CpuTarget target) noexcept {
  return target == CpuTarget::kNeonI8mm || target == CpuTarget::kNeonBf16;
}

/// Whether it has VDPBF16PS, or BFMMLA.
[[nodiscard]] constexpr bool multiplies_bf16(CpuTarget target) noexcept {
  return target == CpuTarget::kNeonBf16 || target >= CpuTarget::kAvx512Bf16;
}

/// "portable", "neon_dot", "neon_i8mm", "neon_bf16", "avx2", "avx2_vnni", "avx512",
/// "avx512_vnni", "avx512_bf16", "avx512_amx".
[[nodiscard]] std::string_view to_string(CpuTarget target) noexcept;

/// Those that this processor and system can run, ascending; some between may be missing. The first
/// call asks the system for AMX (amx_tiles.h). Thread-safe.
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
