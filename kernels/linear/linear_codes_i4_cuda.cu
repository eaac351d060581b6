#include <cstdint>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Integers of 4 bits with a zero, under scales of 64, 128 or 256 columns. Codes minus their zeros
/// are exact in bf16. Scales go on sums.
template <DType kType>
struct I4 : BoxedEncoding<kType, 200 << 10> {
  static constexpr bool kSwapsTokens = true;
  static constexpr CodeBox kBox = box_of(kType);
  static constexpr int kRowBytes = kBox.row_bytes();
  static constexpr int kGroups = kBox.rest;  // scales of a row in a box

  /// Operands for many tokens. 16 bytes hold 32 columns, the first 16 in the lower halves. Codes
  /// minus their zero, over 64, are exact. Multiplying them by the scale rounds once.
  class Operands {
   public:
    __device__ Operands(const std::byte* unit, std::byte* /*scales*/, const OperandLane& at)
        : Operands(OperandBox<kRowBytes>(unit, at), at.place) {}

    __device__ void load(int chunk, ChunkOperands& to) {
      constexpr int kPieces = 2;  // pieces of 16 bytes in a chunk
      if (chunk * kChunkColumns % kGroupColumns == 0)
        read_group(chunk * kChunkColumns / kGroupColumns);
      std::uint32_t bytes[kPieces][4];
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        const std::byte* from = codes_ + ((2 * chunk + piece) * 16 ^ turned_);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          bytes[piece][i] = two_bytes(from + i % 2 * (8 * kBox.codes) + i / 2 * 8);
        }
      }
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t both = spread(bytes[piece][i]);
          to[2 * piece][i] =
              scales_[i % 2].on(fma_of(both & 0x000f000fU, kBytesOver64, zeros_[i % 2]));
          to[2 * piece + 1][i] =
              scales_[i % 2].on(fma_of(both & 0x00f000f0U, kUppersOver64, zeros_[i % 2]));
        }
      }
    }

   private:
    static constexpr int kGroupColumns = kBox.columns / kGroups;

    __device__ Operands(const OperandBox<kRowBytes>& of, int place)
        : codes_(of.box + of.row * kBox.codes + 2 * place),
          turned_(CodeBox::code_place(of.row, 0)),
          scale_at_(of.box + kBox.scales_at() + of.row * kBox.scales),
          zero_at_(of.box + kBox.rest_at() + of.row * kBox.rest) {}

    __device__ void read_group(int group) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const auto* scale =
            reinterpret_cast<const __half*>(scale_at_ + i * 8 * kBox.scales + group * 2);
        const auto zero = std::to_integer<std::uint32_t>(zero_at_[i * 8 * kBox.rest + group]);
        scales_[i] = SplitScale(64.0F * __half2float(*scale));
        zeros_[i] = times(zero | zero << 16U, kMinusOver64);
      }
    }

    const std::byte* codes_;
    /// Mask that maps an offset to its place: a row's pieces of 16 bytes are permuted.
    int turned_;
    const std::byte* scale_at_;
    const std::byte* zero_at_;
    SplitScale scales_[2];      ///< scales of the lane's two rows
    std::uint32_t zeros_[2]{};  ///< minus the zero, over 64
  };

  /// For up to kStreamedTokens tokens. Operands are codes minus their zero, over 64, at two
  /// operations for two codes. Read as bf16, a code alone in the lower half of a byte is the code
  /// times 2^-133, and in the upper half times 2^-129, since numbers below the smallest normal
  /// number have no hidden bit.
  struct Codes {
    static constexpr int kSteps = 4;
    static constexpr int kProducts = kGroups == 4 ? 4 : 8;
    static constexpr int kOwn = kGroups == 4 ? 2 : 1;  // groups in half a unit
    static constexpr bool kSplitColumns = false;

    __device__ Codes(const std::byte* box, std::byte* /*scales*/, const Lane& at)
        : first_column(at.half * 128 + at.place / 2 * 32 + at.place % 2 * 8) {
      const int row = row_in_box(at);
      // 16 bytes hold 32 columns, the first 16 in the lower halves. In each 64 columns a lane has
      // eight bytes: eight columns, and the eight that are 16 further.
      const int byte = at.half * 64 + at.place / 2 * 16;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        codes[pair] =
            box + row * kBox.codes + CodeBox::code_place(row, byte + 32 * pair) + at.place % 2 * 8;
      }
      scale_at = box + kBox.scales_at() + row * kBox.scales + own_at(at) * 2;
      const std::byte* zero_at = box + kBox.rest_at() + row * kBox.rest + own_at(at);
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto zero = std::to_integer<std::uint32_t>(zero_at[8 * i * kBox.rest + own]);
          zeros[own][i] = times(zero | zero << 16U, kMinusOver64);
        }
      }
    }

    /// Returns the index of the half's first group.
    static __device__ int own_at(const Lane& at) { return kGroups == 1 ? 0 : at.half * kOwn; }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      uint2 words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = *reinterpret_cast<const uint2*>(codes[step / 2] + i * 8 * kBox.codes);
      }
      const bool upper = step % 2 == 1;
      const int own = kOwn == 1 ? 0 : step / 2;
      const auto two = [&](std::uint32_t bytes, int row) {
        const std::uint32_t code = bytes & (upper ? 0x00f000f0U : 0x000f000fU);
        return bits_of(__hfma2(two_of(code), two_of(upper ? kUppersOver64 : kBytesOver64),
                               two_of(zeros[own][row])));
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
      const int own = kOwn == 1 ? 0 : product / 4;
      return 64.0F * __half2float(*reinterpret_cast<const __half*>(
                         scale_at + 8 * row * kBox.scales + 2 * own));
    }

    const std::byte* codes[2];
    int first_column;
    const std::byte* scale_at;
    std::uint32_t zeros[kOwn][4];  ///< minus the zero, over 64
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    add_boxed<Sizes, Codes>(weights, inputs, scales, at, sums);
  }
};

}  // namespace

CodesKind i4_64() { return kind_of<I4<DType::kI4_64>>(); }
CodesKind i4_128() { return kind_of<I4<DType::kI4_128>>(); }
CodesKind i4_256() { return kind_of<I4<DType::kI4_256>>(); }

}  // namespace weft::cuda::codes
