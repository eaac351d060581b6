#include <cstdint>
#include <type_traits>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q6_k: scales of 16 columns, so of a product one of each row.
struct Q6K : BoxedEncoding<DType::kQ6_K, 226 << 10> {
  static constexpr int kProducts = 1;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  /// Of a half's 128 columns a step has 16 bytes of low bits, whose low halves are 16 columns and
  /// whose high halves 16 that are 64 further.
  template <class Sizes>
  struct Codes {
    using Scale = std::conditional_t<Sizes::kExact, float, std::uint32_t>;
    static constexpr int kGroups = 8;  // of a half
    static_assert(kGroups * sizeof(Scale) == kScaleBytes);

    __device__ Codes(const std::byte* weights, std::byte* shared, const Lane& at)
        : box(weights + at.row<Sizes>() / kBoxRows * (kBoxRows * kRowBytes)),
          row(at.row_in_box<Sizes>()),
          half(at.half),
          place(at.place),
          input(at.quad * Sizes::kBoxBytes + (at.half * 128 + 2 * at.place) * 2),
          scales(reinterpret_cast<const Scale*>(shared) + at.quad * kGroups) {
      share_scales(weights, reinterpret_cast<Scale*>(shared), at);
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::byte* from = box + kBox.high_at() + row * kBox.high +
                                CodeBox::high_place(row, half * 32 + part * 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          high[part][i] = operand_bytes(from + row_step<Sizes>(i, kBox.high));
        }
      }
    }

    /// Every lane makes the scales of a row, which all read.
    static __device__ void share_scales(const std::byte* weights, Scale* shared, const Lane& at) {
      const int own = at.own_row<Sizes>();
      const std::byte* from = weights + own / kBoxRows * (kBoxRows * kRowBytes);
      const int in_box = own % kBoxRows;
      const uint2 codes = *reinterpret_cast<const uint2*>(from + kBox.scales_at() +
                                                          in_box * kBox.scales + at.half * kGroups);
      const float whole = __half2float(
          *reinterpret_cast<const __half*>(from + kBox.rest_at() + in_box * kBox.rest));
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const std::uint32_t word = i < 4 ? codes.x : codes.y;
        const float scale = whole * static_cast<float>(static_cast<std::int8_t>(word >> i % 4 * 8));
        if constexpr (Sizes::kExact) {
          shared[at.own * kGroups + i] = scale;
        } else {
          shared[at.own * kGroups + i] = twice(scale);
        }
      }
      __syncwarp();
    }

    /// The number of a step's 16 columns among those of a half.
    static __device__ constexpr int group_of(int step, int k) { return step + 4 * k; }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      constexpr std::uint32_t k160 = 0x43204320U;  // 128 and the codes' zero
      const std::byte* from =
          box + row * kBox.codes + CodeBox::code_place(row, half * 64 + step * 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t low = operand_bytes(from + row_step<Sizes>(i, kBox.codes));
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const int shift = group_of(step, k) / 2 * 2;
          const std::uint32_t bytes =
              (low >> 4 * k & 0x0f0f0f0fU) | (high[step % 2][i] >> shift << 4 & 0x30303030U);
          std::uint32_t& first = to[i / 2][k][i % 2];
          std::uint32_t& second = to[i / 2][k][i % 2 + 2];
          four_bytes(bytes, first, second);
          first = minus(first, k160);
          second = minus(second, k160);
          if constexpr (!Sizes::kExact) {
            first = times(first, scale(2 * step + k, i));
            second = times(second, scale(2 * step + k, i));
          }
        }
      }
    }

    /// Two columns and two that are 8 further, and as many 64 further.
    [[nodiscard]] __device__ uint4 tokens(const std::byte* inputs, int step) const {
      const std::byte* from = inputs + input + step * 32;
      const auto word = [&](int columns) {
        return *reinterpret_cast<const std::uint32_t*>(from + 2 * columns);
      };
      return make_uint4(word(0), word(8), word(64), word(72));
    }
    [[nodiscard]] __device__ int column(int step, int k) const {
      return half * 128 + group_of(step, k) * 16;
    }
    [[nodiscard]] __device__ Scale scale(int product, int i) const {
      return scales[8 * i * kGroups + group_of(product / 2, product % 2)];
    }

    const std::byte* box;
    int row;
    int half;
    int place;
    int input;
    const Scale* scales;
    std::uint32_t high[2][4];
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    const Codes<Sizes> codes(weights, scales, at);
    if constexpr (Sizes::kExact) {
      add_exact<Sizes>(codes, inputs, sums);
    } else {
      add_wide<Sizes>(codes, inputs, sums);
    }
  }
#endif
};

}  // namespace

CodesKind q6_k() { return kind_of<Q6K>(); }

}  // namespace weft::cuda::codes
