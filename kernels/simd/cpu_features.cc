#include "weft/kernels/simd/cpu_features.h"

#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

constexpr std::array kAllTargets = {CpuTarget::kPortable, CpuTarget::kAvx2, CpuTarget::kAvx512,
                                    CpuTarget::kAvx512Bf16};

bool has(CpuTarget target) noexcept {
#if HWY_ARCH_X86
  switch (target) {
    case CpuTarget::kPortable:
      return true;
    case CpuTarget::kAvx2:
      return (hwy::SupportedTargets() & HWY_AVX2) != 0;
    case CpuTarget::kAvx512:
      return (hwy::SupportedTargets() & HWY_AVX3) != 0;
    case CpuTarget::kAvx512Bf16:
      return has(CpuTarget::kAvx512) && __builtin_cpu_supports("avx512bf16") != 0 &&
             __builtin_cpu_supports("avx512vnni") != 0;
  }
  return false;
#else
  return target == CpuTarget::kPortable;
#endif
}

std::size_t count_available() noexcept {
  return static_cast<std::size_t>(std::ranges::find_if_not(kAllTargets, has) - kAllTargets.begin());
}

/// What Highway may choose from when `target` is forced: it takes the best of these.
std::int64_t highway_targets(CpuTarget target) noexcept {
#if HWY_ARCH_X86
  switch (target) {
    case CpuTarget::kPortable:
      return HWY_STATIC_TARGET;
    case CpuTarget::kAvx2:
      return HWY_AVX2;
    case CpuTarget::kAvx512:
    case CpuTarget::kAvx512Bf16:
      return HWY_AVX3;
  }
#else
  static_cast<void>(target);
#endif
  return HWY_STATIC_TARGET;
}

// Highway keeps its own choice for the process; this is the part of it that Highway has no name
// for.
constinit std::atomic<int> forced_target{-1};

}  // namespace

std::string_view to_string(CpuTarget target) noexcept {
  constexpr std::array<std::string_view, kAllTargets.size()> kNames = {"portable", "avx2", "avx512",
                                                                       "avx512_bf16"};
  return kNames[static_cast<std::size_t>(target)];
}

std::span<const CpuTarget> available_cpu_targets() noexcept {
  static const std::size_t count = count_available();
  return std::span(kAllTargets).first(count);
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
