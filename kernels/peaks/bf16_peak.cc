#include "weft/kernels/peaks/bf16_peak.h"

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {

bool multiplies_bf16() { return cpu_target() == CpuTarget::kAvx512Bf16; }

#if defined(__x86_64__)

__attribute__((target("avx512f,avx512bf16"))) void do_bf16_operations(std::int64_t operations) {
  constexpr int kSums = 24;
  constexpr std::int64_t kOperations =
      std::int64_t{kSums} * 64;  // an instruction: 32 products, as many sums
  const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803f80));
  __m512 sums[kSums] = {};
  for (std::int64_t done = 0; done < operations; done += kOperations) {
    WEFT_UNROLL
    for (int i = 0; i < kSums; ++i) {
      sums[i] = _mm512_dpbf16_ps(sums[i], factor, factor);
      asm volatile("" : "+v"(sums[i]));
    }
  }
}

#else

void do_bf16_operations(std::int64_t /*operations*/) { internal_error("no bf16 here"); }

#endif

}  // namespace weft
