#include <cstdint>

#include "weft/kernels/linear/linear_codes_eight_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// FP8 (e4m3) under scales of 128 or 256 columns. A half of a unit has one scale, so the scale goes
/// on sums.
struct F8 : BoxedEncoding<DType::kF8_128, 200 << 10> {
  static constexpr TokenForm kFewTokens = TokenForm::kHalves;
  struct Codes : EightBitPlaces<kBox.codes, true> {
    static constexpr int kProducts = 4;

    __device__ Codes(const std::byte* box, std::byte* /*scales*/, const Lane& at)
        : EightBitPlaces(box, at),
          scale_at(box + kBox.scales_at() + row_in_box(at) * kBox.scales) {}

    /// Converts two codes, each in the upper byte of its half of `bytes`, to bf16. Exponent and
    /// mantissa move to their places, and 2^120 makes up for the different exponent biases. A NaN
    /// code becomes +-480.
    static __device__ std::uint32_t two(std::uint32_t bytes) {
      constexpr std::uint32_t k2To120 = 0x7b807b80U;
      return times((bytes >> 4U & 0x07f007f0U) | (bytes & 0x80008000U), k2To120);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      uint2 words[4];
      load(step, words);
      into_operands(words, to,
                    [](std::uint32_t word, int, std::uint32_t& first, std::uint32_t& second) {
                      first = two(__byte_perm(word, 0, 0x1404));
                      second = two(__byte_perm(word, 0, 0x3424));
                    });
    }

    /// Reads the scale when it is needed, since registers are few.
    [[nodiscard]] __device__ float scale(int /*product*/, int row) const {
      return *reinterpret_cast<const float*>(scale_at + 8 * row * kBox.scales);
    }

    const std::byte* scale_at;
  };

  /// Multiplies weights by their scale and rounds once.
  class Operands : public EightBitOperands<kBox.codes, kRowBytes> {
   public:
    __device__ Operands(const std::byte* unit, std::byte* /*scales*/, const OperandLane& at)
        : EightBitOperands(unit, at) {
      const std::byte* from = box_ + kBox.scales_at() + row_ * kBox.scales;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scales_[i] = SplitScale(*reinterpret_cast<const float*>(from + i * 8 * kBox.scales));
      }
    }

    __device__ void load(int chunk, ChunkOperands& to) const {
      each_two(chunk, to, [&](std::uint32_t bytes, int /*step*/, int row) {
        return scales_[row].on(Codes::two(__byte_perm(bytes, 0, 0x1404)));
      });
    }

   private:
    SplitScale scales_[2];  ///< scales of the lane's two rows
  };

  /// Codes as f16, which holds all of them.
  struct HalfCodes : EightBitPlaces<kBox.codes, false> {
    static constexpr int kProducts = 4;

    __device__ HalfCodes(const std::byte* box, std::byte* /*scales*/, const Lane& at)
        : EightBitPlaces(box, at),
          scale_at(box + kBox.scales_at() + row_in_box(at) * kBox.scales) {}

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      uint2 words[4];
      load(step, words);
      into_operands(words, to,
                    [](std::uint32_t word, int, std::uint32_t& first, std::uint32_t& second) {
                      halves_of_e4m3(word, first, second);
                    });
    }

    [[nodiscard]] __device__ float scale(int /*product*/, int row) const {
      return *reinterpret_cast<const float*>(scale_at + 8 * row * kBox.scales);
    }

    const std::byte* scale_at;
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    if constexpr (Sizes::kForm == TokenForm::kHalves) {
      add_boxed<Sizes, HalfCodes>(weights, inputs, scales, at, sums);
    } else {
      add_boxed<Sizes, Codes>(weights, inputs, scales, at, sums);
    }
  }
};
static_assert(box_of(DType::kF8_256).row_bytes() == F8::kRowBytes);

}  // namespace

CodesKind f8() { return kind_of<F8>(); }

}  // namespace weft::cuda::codes
