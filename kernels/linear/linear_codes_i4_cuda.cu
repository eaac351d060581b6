#include <cstdint>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Integers of 4 bits with a zero, under scales of 64, 128 or 256 columns. Codes less their zeros
/// are exact in bf16, scales go on sums.
template <DType kType>
struct I4 : BoxedEncoding<kType, 200 << 10> {
  static constexpr bool kSwapsTokens = true;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static constexpr CodeBox kBox = box_of(kType);
  static constexpr int kGroups = kBox.rest;  // scales of a row in a box

  struct Codes {
    static constexpr int kSteps = 4;
    static constexpr int kProducts = kGroups == 4 ? 4 : 8;
    static constexpr int kOwn = kGroups == 4 ? 2 : 1;  // groups of a half
    static constexpr bool kSplitColumns = false;
    static __device__ constexpr int step_of(int chunk, int turn) { return 2 * chunk + turn; }

    /// 16 bytes hold 32 columns, the first 16 in the low halves. A lane has of 64 columns eight
    /// bytes: eight columns, and eight that are 16 further. Odd places take these first, so that
    /// the lanes of two tokens read from different banks.
    __device__ Codes(const std::byte* box, std::byte* /*scales*/, const Lane& at)
        : first_column(at.half * 128 + at.place / 2 * 32 + at.place % 2 * 8), odd(at.place % 2) {
      const int row = row_in_box(at);
      const int byte = at.half * 64 + at.place / 2 * 16;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        codes[pair] =
            box + row * kBox.codes + CodeBox::code_place(row, byte + 32 * pair) + at.place % 2 * 8;
      }
      // Scales are read where they are needed, since registers are few.
      scale_at = box + kBox.scales_at() + row * kBox.scales + own_at(at) * 2;
      zero_at = box + kBox.rest_at() + row * kBox.rest + own_at(at);
      bool any = false;
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int zero = zero_of(own, i);
          zeros[own][i] = twice(static_cast<float>(128 + min(zero, 128)));
          any = any || zero > 128;
        }
      }
      far = __any_sync(0xffffffffU, any) != 0;
    }

    /// The first of a half's groups.
    static __device__ int own_at(const Lane& at) { return kGroups == 1 ? 0 : at.half * kOwn; }
    [[nodiscard]] __device__ int zero_of(int own, int row) const {
      return static_cast<int>(zero_at[8 * row * kBox.rest + own]);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      uint2 words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = *reinterpret_cast<const uint2*>(codes[step / 2] + i * 8 * kBox.codes);
      }
      const int upper = step % 2 ^ odd;
      const int own = kOwn == 1 ? 0 : step / 2;
      into_operands(words, to,
                    [&](std::uint32_t word, int row, std::uint32_t& first, std::uint32_t& second) {
                      four_codes(word, upper, first, second);
                      first = minus(first, zeros[own][row]);
                      second = minus(second, zeros[own][row]);
                    });
      if (far) take_rest(own, to);
    }

    /// Of zeros that bf16 cannot hold as 128 + zero, what is above 128. No code of a real file is
    /// as far from its zero.
    __device__ void take_rest(int own, std::uint32_t (&to)[2][2][4]) const {
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int zero = zero_of(own, 2 * m + i % 2);
          const std::uint32_t rest = twice(static_cast<float>(max(zero - 128, 0)));
          to[m][0][i] = minus(to[m][0][i], rest);
          to[m][1][i] = minus(to[m][1][i], rest);
        }
      }
    }

    [[nodiscard]] __device__ int column(int step) const {
      return first_column + 64 * (step / 2) + 16 * (step % 2 ^ odd);
    }
    [[nodiscard]] __device__ float scale(int product, int row) const {
      const int own = kOwn == 1 ? 0 : product / 4;
      return __half2float(
          *reinterpret_cast<const __half*>(scale_at + 8 * row * kBox.scales + 2 * own));
    }

    const std::byte* codes[2];
    int first_column;
    int odd;
    bool far;
    const std::byte* scale_at;
    const std::byte* zero_at;
    std::uint32_t zeros[kOwn][4];
  };

  using Weights = BoxedWeights<Codes, kBox.row_bytes()>;

  /// For up to kStreamedTokens tokens. Operands are codes less their zero, over 64, at two
  /// operations for two codes. As bf16, a code alone in the lower half of a byte is the code times
  /// 2^-133, in the upper half times 2^-129, since numbers below the smallest normal one have no
  /// hidden bit.
  struct StreamedCodes {
    static constexpr int kSteps = Codes::kSteps;
    static constexpr int kProducts = Codes::kProducts;
    static constexpr bool kSplitColumns = false;

    __device__ StreamedCodes(const std::byte* box, std::byte* /*scales*/, const Lane& at)
        : first_column(at.half * 128 + at.place / 2 * 32 + at.place % 2 * 8) {
      const int row = row_in_box(at);
      const int byte = at.half * 64 + at.place / 2 * 16;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        codes[pair] =
            box + row * kBox.codes + CodeBox::code_place(row, byte + 32 * pair) + at.place % 2 * 8;
      }
      scale_at = box + kBox.scales_at() + row * kBox.scales + Codes::own_at(at) * 2;
      const std::byte* zero_at = box + kBox.rest_at() + row * kBox.rest + Codes::own_at(at);
#pragma unroll
      for (int own = 0; own < Codes::kOwn; ++own) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto zero = std::to_integer<std::uint32_t>(zero_at[8 * i * kBox.rest + own]);
          zeros[own][i] = times(zero | zero << 16U, kMinus2To127);
        }
      }
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      uint2 words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = *reinterpret_cast<const uint2*>(codes[step / 2] + i * 8 * kBox.codes);
      }
      const bool upper = step % 2 == 1;
      const int own = Codes::kOwn == 1 ? 0 : step / 2;
      const auto two = [&](std::uint32_t bytes, int row) {
        const std::uint32_t code = bytes & (upper ? 0x00f000f0U : 0x000f000fU);
        return bits_of(
            __hfma2(two_of(code), two_of(upper ? k2To123 : k2To127), two_of(zeros[own][row])));
      };
      into_operands(words, to,
                    [&](std::uint32_t word, int row, std::uint32_t& first, std::uint32_t& second) {
                      first = two(__byte_perm(word, 0, 0x4140), row);
                      second = two(__byte_perm(word, 0, 0x4342), row);
                    });
    }

    [[nodiscard]] __device__ int column(int step) const {
      return first_column + 64 * (step / 2) + 16 * (step % 2);
    }
    [[nodiscard]] __device__ float scale(int product, int row) const {
      const int own = Codes::kOwn == 1 ? 0 : product / 4;
      return 64.0F * __half2float(*reinterpret_cast<const __half*>(
                         scale_at + 8 * row * kBox.scales + 2 * own));
    }

    static constexpr std::uint32_t k2To123 = 0x7d007d00U;  // twice, in bf16
    static constexpr std::uint32_t k2To127 = 0x7f007f00U;
    static constexpr std::uint32_t kMinus2To127 = 0xff00ff00U;
    const std::byte* codes[2];
    int first_column;
    const std::byte* scale_at;
    std::uint32_t zeros[Codes::kOwn][4];  ///< less than zero, over 64
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    add_boxed<Sizes, StreamedCodes>(weights, inputs, scales, at, sums);
  }
#endif
};

}  // namespace

CodesKind i4_64() { return kind_of<I4<DType::kI4_64>>(); }
CodesKind i4_128() { return kind_of<I4<DType::kI4_128>>(); }
CodesKind i4_256() { return kind_of<I4<DType::kI4_256>>(); }

}  // namespace weft::cuda::codes
