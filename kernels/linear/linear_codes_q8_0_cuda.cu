#include <cstdint>
#include <type_traits>

#include "weft/kernels/linear/linear_codes_eight_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q8_0. Up to kExactTokens tokens the scales go on the sums of 32 columns. For more
/// tokens scaling the weights is cheaper.
struct Q8 : BoxedEncoding<DType::kQ8_0, 200 << 10> {
  template <bool kExact>
  struct Codes : EightBitPlaces<kBox.codes, !kExact> {
    using Places = EightBitPlaces<kBox.codes, !kExact>;
    using Scale = std::conditional_t<kExact, float, std::uint32_t>;
    [[maybe_unused]] static constexpr int kProducts = kExact ? 2 : 0;

    __device__ Codes(const std::byte* box, std::byte* /*scales*/, const Lane& at)
        : Places(box, at) {
      const std::byte* from =
          box + kBox.scales_at() + row_in_box(at) * kBox.scales + at.half * (kBox.scales / 2);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 both =
            __half22float2(*reinterpret_cast<const __half2*>(from + i * 8 * kBox.scales));
        if constexpr (kExact) {
          scales[0][i] = both.x;
          scales[1][i] = both.y;
        } else {
          scales[0][i] = twice(this->odd == 0 ? both.x : both.y);
          scales[1][i] = twice(this->odd == 0 ? both.y : both.x);
        }
      }
    }

    /// Converts two codes to bf16. Each code is in the lower byte of its half of `bytes`, and the
    /// upper byte has the bits of 128. The code's seven lower bits are a mantissa: 128 + bits. 128
    /// is subtracted, or 256 if the code's sign bit is set.
    static __device__ std::uint32_t two(std::uint32_t bytes) {
      return minus(bytes & 0xff7fff7fU, bytes & 0xff80ff80U);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      uint2 words[4];
      this->load(step, words);
      into_operands(words, to,
                    [](std::uint32_t word, int, std::uint32_t& first, std::uint32_t& second) {
                      four_bytes(word, first, second);
                      first = two(first);
                      second = two(second);
                    });
    }

    [[nodiscard]] __device__ Scale scale(int product, int row) const {
      return scales[product / 2][row];
    }

    Scale scales[2][4];
  };

  /// Operands for many tokens: scales go on weights, in bf16.
  class Operands : public EightBitOperands<kBox.codes, kRowBytes> {
   public:
    __device__ Operands(const std::byte* unit, std::byte* /*scales*/, const OperandLane& at)
        : EightBitOperands(unit, at) {
      const std::byte* from = box_ + kBox.scales_at() + row_ * kBox.scales;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint2 four = *reinterpret_cast<const uint2*>(from + i * 8 * kBox.scales);
        const float2 first = __half22float2(reinterpret_cast<const __half2&>(four.x));
        const float2 second = __half22float2(reinterpret_cast<const __half2&>(four.y));
        scales_[i][0] = twice(64.0F * first.x);
        scales_[i][1] = twice(64.0F * first.y);
        scales_[i][2] = twice(64.0F * second.x);
        scales_[i][3] = twice(64.0F * second.y);
      }
    }

    __device__ void load(int chunk, ChunkOperands& to) const {
      // Flipping these bits turns a code into code + 128.
      constexpr std::uint32_t kSigns = 0x00800080U;
      constexpr std::uint32_t kMinus2 = 0xc000c000U;  // -128 / 64, twice
      each_two(chunk, to, [&](std::uint32_t bytes, int step, int row) {
        const std::uint32_t codes = fma_of(spread(bytes) ^ kSigns, kBytesOver64, kMinus2);
        return times(codes, scales_[row][2 * chunk + step / 2]);
      });
    }

   private:
    std::uint32_t scales_[2][4];  ///< scales of the lane's two rows, times 64
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    add_boxed<Sizes, Codes<Sizes::kExact>>(weights, inputs, scales, at, sums);
  }
};

}  // namespace

CodesKind q8_0() { return kind_of<Q8>(); }

}  // namespace weft::cuda::codes
