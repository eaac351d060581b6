#include "weft/kernels/peaks/bf16_peak.h"

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/amx_tiles.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace weft {

bool multiplies_bf16() { return multiplies_bf16(cpu_target()); }

#if defined(__x86_64__)

namespace {

__attribute__((target("amx-tile,amx-bf16"))) void do_tiles(std::int64_t operations) {
  constexpr std::int64_t kOperations = std::int64_t{4} * 2 * 16 * 16 * 32;
  AmxShapes shapes;
  shapes.tiles.fill({16, 64});
  AmxTiles tiles;
  tiles.shape(shapes);  // all zero
  for (std::int64_t done = 0; done < operations; done += kOperations) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

__attribute__((target("avx512f,avx512bf16"))) void do_vectors(std::int64_t operations) {
  constexpr int kSums = 24;
  constexpr std::int64_t kOperations =
      std::int64_t{kSums} * 64;  // an instruction does 32 products and 32 sums
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

}  // namespace

void do_bf16_operations(std::int64_t operations) {
  (cpu_target() == CpuTarget::kAvx512Amx ? do_tiles : do_vectors)(operations);
}

#elif defined(__aarch64__)

__attribute__((target("arch=armv8.2-a+bf16"))) void do_bf16_operations(std::int64_t operations) {
  constexpr int kSums = 24;
  constexpr std::int64_t kOperations =
      std::int64_t{kSums} * 32;  // an instruction does 16 products and 16 sums
  uint32x4_t ones = vdupq_n_u32(0x3f803f80);
  asm volatile("" : "+w"(ones));  // GCC 12 would write this constant as eight f16
  const bfloat16x8_t factor = vreinterpretq_bf16_u32(ones);
  float32x4_t sums[kSums] = {};
  for (std::int64_t done = 0; done < operations; done += kOperations) {
    WEFT_UNROLL
    for (int i = 0; i < kSums; ++i) {
      sums[i] = vbfmmlaq_f32(sums[i], factor, factor);
      asm volatile("" : "+w"(sums[i]));
    }
  }
}

#else

void do_bf16_operations(std::int64_t /*operations*/) { internal_error("no bf16 here"); }

#endif

}  // namespace weft
