#include <cstdint>

#include "weft/kernels/linear/linear_codes_eight_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q8_0: scales of 32 columns.
struct Q8 : BoxedEncoding<DType::kQ8_0, 200 << 10> {
  static constexpr int kProducts = 2;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  template <class Sizes>
  struct Codes : EightBits<Sizes> {
    __device__ Codes(const std::byte* weights, const Lane& at) : EightBits<Sizes>(weights, at) {
      const std::byte* from =
          this->box + kBox.scales_at() + this->row * kBox.scales + at.half * (kBox.scales / 2);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scales[i] = __half22float2(
            *reinterpret_cast<const __half2*>(from + row_step<Sizes>(i, kBox.scales)));
      }
    }

    /// Two codes, each in the lower byte of its half of `bytes` below the bits of 128, as bf16. The
    /// seven lower bits of a code are a mantissa, 128 + bits; its sign makes 128, which is to be
    /// taken from that, to 256.
    static __device__ std::uint32_t two(std::uint32_t bytes) {
      return minus(bytes & 0xff7fff7fU, bytes & 0xff80ff80U);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      this->convert(step, to,
                    [&](std::uint32_t word, int i, std::uint32_t& first, std::uint32_t& second) {
                      four_bytes(word, first, second);
                      first = two(first);
                      second = two(second);
                      if constexpr (!Sizes::kExact) {
                        const std::uint32_t both = twice(scale(2 * step, i));
                        first = times(first, both);
                        second = times(second, both);
                      }
                    });
    }

    [[nodiscard]] __device__ float scale(int product, int i) const {
      return product < 2 ? scales[i].x : scales[i].y;
    }

    float2 scales[4];
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

}  // namespace

CodesKind q8_0() { return kind_of<Q8>(); }

}  // namespace weft::cuda::codes
