#include <cstdint>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Integers of 4 bits with a zero, under scales of 64, 128 or 256 columns. 16 bytes hold 32
/// columns, the first 16 in the low halves.
template <DType kType>
struct I4 : BoxedEncoding<kType, 200 << 10> {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static constexpr CodeBox kBox = box_of(kType);
  static constexpr int kGroups = kBox.rest;          // scales of a row in a box
  static constexpr int kOwn = kGroups == 4 ? 2 : 1;  // of a half
  static constexpr int kProducts = 8 / kOwn;

  template <class Sizes>
  struct Codes {
    __device__ Codes(const std::byte* weights, const Lane& at)
        : box(weights + at.row<Sizes>() / kBoxRows * (kBoxRows * Sizes::Encoding::kRowBytes)),
          row(at.row_in_box<Sizes>()),
          half(at.half),
          place(at.place),
          input(at.quad * Sizes::kBoxBytes + (at.half * 128 + place / 2 * 32 + place % 2 * 8) * 2) {
      const int own = kGroups == 1 ? 0 : at.half * kOwn;
      scale_at = box + kBox.scales_at() + row * kBox.scales + own * 2;
      zero_at = box + kBox.rest_at() + row * kBox.rest + own;
      bool any = false;
#pragma unroll
      for (int g = 0; g < kOwn; ++g) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int zero = zero_of(g, i);
          zeros[g][i] = 0x43004300U | static_cast<unsigned>(min(zero, 128)) * 0x10001U;
          any = any || zero > 128;
        }
      }
      far = __any_sync(0xffffffffU, any) != 0;
    }

    /// Volatile, so that what few need is not read and made ready for all.
    [[nodiscard]] __device__ int zero_of(int own, int i) const {
      return *reinterpret_cast<const volatile std::uint8_t*>(zero_at +
                                                             row_step<Sizes>(i, kBox.rest) + own);
    }
    /// Read where it is needed, since registers are few.
    [[nodiscard]] __device__ float scale(int product, int i) const {
      const int own = kOwn == 1 ? 0 : product / 4;
      return __half2float(
          *reinterpret_cast<const __half*>(scale_at + row_step<Sizes>(i, kBox.scales) + 2 * own));
    }

    /// Four codes less their zero. No code of a real file is as far from its zero as bf16, which
    /// cannot hold all of 128 + zero, makes necessary.
    __device__ void convert(std::uint32_t word, int upper, int own, int i, std::uint32_t& first,
                            std::uint32_t& second) const {
      four_codes(word, upper, first, second);
      first = minus(first, zeros[own][i]);
      second = minus(second, zeros[own][i]);
      if (far) {
        const std::uint32_t rest = twice(static_cast<float>(max(zero_of(own, i) - 128, 0)));
        first = minus(first, rest);
        second = minus(second, rest);
      }
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      const int own = kOwn == 1 ? 0 : step / 2;
      const std::byte* from = box + row * kBox.codes;
      if constexpr (Sizes::kExact) {
        // Of 64 columns a lane has eight bytes: eight columns, and eight that are 16 further.
        from +=
            CodeBox::code_place(row, half * 64 + step / 2 * 32 + place / 2 * 16) + place % 2 * 8;
        uint2 words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[i] = *reinterpret_cast<const uint2*>(from + row_step<Sizes>(i, kBox.codes));
        }
        into_operands(words, to,
                      [&](std::uint32_t word, int i, std::uint32_t& first, std::uint32_t& second) {
                        convert(word, step % 2, own, i, first, second);
                      });
      } else {
        from += CodeBox::code_place(row, half * 64 + step * 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t word = operand_bytes(from + row_step<Sizes>(i, kBox.codes));
          const std::uint32_t both = twice(scale(2 * step, i));
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            std::uint32_t& first = to[i / 2][k][i % 2];
            std::uint32_t& second = to[i / 2][k][i % 2 + 2];
            convert(word, k, own, i, first, second);
            first = times(first, both);
            second = times(second, both);
          }
        }
      }
    }

    [[nodiscard]] __device__ uint4 tokens(const std::byte* inputs, int step) const {
      return *reinterpret_cast<const uint4*>(inputs + input + step / 2 * 128 + step % 2 * 32);
    }
    [[nodiscard]] __device__ int column(int step, int k) const {
      return half * 128 + step * 32 + k * 16;
    }

    const std::byte* box;
    int row;
    int half;
    int place;
    int input;
    bool far;
    const std::byte* scale_at;
    const std::byte* zero_at;
    std::uint32_t zeros[kOwn][4];
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

CodesKind i4_64() { return kind_of<I4<DType::kI4_64>>(); }
CodesKind i4_128() { return kind_of<I4<DType::kI4_128>>(); }
CodesKind i4_256() { return kind_of<I4<DType::kI4_256>>(); }

}  // namespace weft::cuda::codes
