#include <cstdint>

#include "weft/kernels/linear/linear_codes_eight_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// FP8 (e4m3) under scales of 128 or 256 columns, which are the same for a unit.
struct F8 : BoxedEncoding<DType::kF8_128, 200 << 10> {
  static constexpr int kProducts = 4;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  template <class Sizes>
  struct Codes : EightBits<Sizes> {
    __device__ Codes(const std::byte* weights, const Lane& at) : EightBits<Sizes>(weights, at) {
      const std::byte* from = this->box + kBox.scales_at() + this->row * kBox.scales;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scales[i] = *reinterpret_cast<const float*>(from + row_step<Sizes>(i, kBox.scales));
      }
    }

    /// Two codes, each in the upper byte of its half of `bytes`, as bf16: exponent and mantissa
    /// move to their places, and 2^120 makes up for the exponents' different zeros. Of codes that
    /// are no numbers it makes +-480.
    static __device__ std::uint32_t two(std::uint32_t bytes) {
      constexpr std::uint32_t k2To120 = 0x7b807b80U;
      return times((bytes >> 4U & 0x07f007f0U) | (bytes & 0x80008000U), k2To120);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      this->convert(step, to,
                    [&](std::uint32_t word, int i, std::uint32_t& first, std::uint32_t& second) {
                      first = two(__byte_perm(word, 0, 0x1404));
                      second = two(__byte_perm(word, 0, 0x3424));
                      if constexpr (!Sizes::kExact) {
                        first = times(first, twice(scales[i]));
                        second = times(second, twice(scales[i]));
                      }
                    });
    }

    [[nodiscard]] __device__ float scale(int /*product*/, int i) const { return scales[i]; }

    float scales[4];
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs,
                             std::byte* /*scales*/, const Lane& at, Sums<Sizes>& sums) {
    const Codes<Sizes> codes(weights, at);
    if constexpr (Sizes::kExact) {
      add_exact<Sizes>(codes, inputs, sums);
    } else {
      add_wide<Sizes>(codes, inputs, sums);
    }
  }
#endif
};
static_assert(box_of(DType::kF8_256).row_bytes() == F8::kRowBytes);

}  // namespace

CodesKind f8() { return kind_of<F8>(); }

}  // namespace weft::cuda::codes
