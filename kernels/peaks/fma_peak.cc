#include "weft/kernels/peaks/fma_peak.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/peaks/fma_peak.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::int64_t run_chains(std::int64_t count) {
  // More chains than two units with a latency of four need, and fewer than AVX2 has registers.
  constexpr int kChains = 12;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, 0.999F);
  const auto summand = hn::Set(d, 0.001F);
  hn::Vec<decltype(d)> chains[kChains];
  for (auto& chain : chains) chain = hn::Set(d, 1.0F);
  std::int64_t done = 0;
  for (; done < count; done += kChains * lanes) {
    for (auto& chain : chains) chain = hn::MulAdd(chain, factor, summand);
  }
  for (int i = 1; i < kChains; ++i) chains[0] = hn::Add(chains[0], chains[i]);
  const float sum = hn::GetLane(hn::SumOfLanes(d, chains[0]));
  asm volatile("" : : "m"(sum));  // keeps the compiler from removing the computation
  return done;
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(run_chains);

std::int64_t do_fused_multiplications(std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(run_chains)(count);
}

}  // namespace weft
#endif  // HWY_ONCE
