#include "weft/kernels/simd/simd_target.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/simd/simd_target.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(target_name);

std::string_view simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

std::vector<std::int64_t> simd_targets() { return hwy::SupportedAndGeneratedTargets(); }

}  // namespace weft
#endif  // HWY_ONCE
