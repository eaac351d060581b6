#include "weft/kernels/simd/cpu_features.h"

#include <hwy/targets.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/amx_tiles.h"

namespace weft {
namespace {

constexpr std::array kAllTargets = {
    CpuTarget::kPortable,   CpuTarget::kNeonDot,  CpuTarget::kNeonI8mm, CpuTarget::kNeonBf16,
    CpuTarget::kAvx2,       CpuTarget::kAvx2Vnni, CpuTarget::kAvx512,   CpuTarget::kAvx512Vnni,
    CpuTarget::kAvx512Bf16, CpuTarget::kAvx512Amx};

bool has(CpuTarget target) noexcept {
#if HWY_ARCH_X86
  switch (target) {
    case CpuTarget::kPortable:
      return true;
    case CpuTarget::kNeonDot:
    case CpuTarget::kNeonI8mm:
    case CpuTarget::kNeonBf16:
      return false;
    case CpuTarget::kAvx2:
      return (hwy::SupportedTargets() & HWY_AVX2) != 0;
    case CpuTarget::kAvx2Vnni:
      return has(CpuTarget::kAvx2) && __builtin_cpu_supports("avxvnni") != 0;
    case CpuTarget::kAvx512:
      return (hwy::SupportedTargets() & HWY_AVX3) != 0;
    case CpuTarget::kAvx512Vnni:
      return has(CpuTarget::kAvx512) && __builtin_cpu_supports("avx512vnni") != 0;
    case CpuTarget::kAvx512Bf16:
      return has(CpuTarget::kAvx512Vnni) && __builtin_cpu_supports("avx512bf16") != 0;
    case CpuTarget::kAvx512Amx:
      return has(CpuTarget::kAvx512Bf16) && may_use_amx();
  }
  return false;
#elif HWY_ARCH_ARM_A64
  constexpr unsigned long kDotProducts = 1UL << 20U;     // HWCAP_ASIMDDP
  constexpr unsigned long kMatrixProducts = 1UL << 13U;  // HWCAP2_I8MM
  constexpr unsigned long kBf16Products = 1UL << 14U;    // HWCAP2_BF16
  if (target == CpuTarget::kNeonDot) return (::getauxval(AT_HWCAP) & kDotProducts) != 0;
  if (target == CpuTarget::kNeonI8mm) {
    return has(CpuTarget::kNeonDot) && (::getauxval(AT_HWCAP2) & kMatrixProducts) != 0;
  }
  if (target == CpuTarget::kNeonBf16) {
    return has(CpuTarget::kNeonI8mm) && (::getauxval(AT_HWCAP2) & kBf16Products) != 0;
  }
  return target == CpuTarget::kPortable;
#else
  return target == CpuTarget::kPortable;
#endif
}

struct Available {
  std::array<CpuTarget, kAllTargets.size()> targets;
  std::size_t count;
};

Available find_available() noexcept {
  Available all{};
  const auto end = std::ranges::copy_if(kAllTargets, all.targets.begin(), has).out;
  all.count = static_cast<std::size_t>(end - all.targets.begin());
  return all;
}

/// The targets from which Highway chooses the best when `target` is forced.
std::int64_t highway_targets(CpuTarget target) noexcept {
#if HWY_ARCH_X86
  switch (target) {
    case CpuTarget::kPortable:
    case CpuTarget::kNeonDot:
    case CpuTarget::kNeonI8mm:
    case CpuTarget::kNeonBf16:
      return HWY_STATIC_TARGET;
    case CpuTarget::kAvx2:
    case CpuTarget::kAvx2Vnni:
      return HWY_AVX2;
    case CpuTarget::kAvx512:
    case CpuTarget::kAvx512Vnni:
    case CpuTarget::kAvx512Bf16:
    case CpuTarget::kAvx512Amx:
      return HWY_AVX3;
  }
#else
  static_cast<void>(target);
#endif
  return HWY_STATIC_TARGET;
}

// Highway keeps its own choice for the process; this keeps the target itself, since Highway does
// not distinguish all of ours.
constinit std::atomic<int> forced_target{-1};

}  // namespace

std::string_view to_string(CpuTarget target) noexcept {
  constexpr std::array<std::string_view, kAllTargets.size()> kNames = {
      "portable",  "neon_dot", "neon_i8mm",   "neon_bf16",   "avx2",
      "avx2_vnni", "avx512",   "avx512_vnni", "avx512_bf16", "avx512_amx"};
  return kNames[static_cast<std::size_t>(target)];
}

std::span<const CpuTarget> available_cpu_targets() noexcept {
  static const Available available = find_available();
  return std::span(available.targets).first(available.count);
}

CpuTarget cpu_target() noexcept {
  const int forced = forced_target.load(std::memory_order_relaxed);
  return forced >= 0 ? static_cast<CpuTarget>(forced) : available_cpu_targets().back();
}

ForcedCpuTarget::ForcedCpuTarget(CpuTarget target) {
  if (std::ranges::find(available_cpu_targets(), target) == available_cpu_targets().end()) {
    internal_error(std::string("this processor has no ").append(to_string(target)));
  }
  hwy::SetSupportedTargetsForTest(highway_targets(target));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  forced_target.store(static_cast<int>(target), std::memory_order_relaxed);
}

ForcedCpuTarget::~ForcedCpuTarget() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  forced_target.store(-1, std::memory_order_relaxed);
}

}  // namespace weft
