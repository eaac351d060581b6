#include <cstdint>
#include <type_traits>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q6_k, with scales of 16 columns. Up to kExactTokens tokens the scales go on sums: a
/// product has 16 columns under one scale, so a lane has four columns of each of two groups of 16.
/// For more tokens the scales go on weights, and a lane has eight contiguous columns.
struct Q6K : BoxedEncoding<DType::kQ6_K, 226 << 10> {
  template <bool kExact>
  struct Codes {
    using Scale = std::conditional_t<kExact, float, std::uint32_t>;
    [[maybe_unused]] static constexpr int kSteps =
        4;  // pairs of groups of 32: low bits in low and high halves
    [[maybe_unused]] static constexpr int kProducts = kExact ? 1 : 0;
    [[maybe_unused]] static constexpr bool kSplitColumns = kExact;
    static constexpr int kGroups = 8;  // groups of 16 columns in half a unit
    static_assert(kGroups * sizeof(Scale) == kScaleBytes);

    __device__ Codes(const std::byte* box, std::byte* shared, const Lane& at)
        : first_column(at.half * 128 + (kExact ? 4 : 8) * at.place),
          odd(kExact ? 0 : at.place % 2),
          scales(reinterpret_cast<const Scale*>(shared) + at.quad * kGroups +
                 (kExact ? 0 : at.place / 2)) {
      share_scales(box, reinterpret_cast<Scale*>(shared), at);
      const int row = row_in_box(at);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        low[pair] = box + row * kBox.codes + CodeBox::code_place(row, byte_of(at, 64, pair ^ odd));
      }
      const std::byte* from =
          box + kBox.high_at() + row * kBox.high + CodeBox::high_place(row, byte_of(at, 32, 0));
#pragma unroll
      for (int i = 0; i < 4; ++i) high[i] = load(from + i * 8 * kBox.high);
    }

    /// Returns the offset of a lane's first byte in its half of a row's part; a half has `bytes`.
    static __device__ int byte_of(const Lane& at, int bytes, int pair) {
      return at.half * bytes + 32 * pair + (kExact ? 4 : 8) * at.place;
    }

    /// Loads the bits of eight codes: of eight columns, or of four columns and the four 16 further.
    /// A row's permutation puts the bytes 16 further either 16 after or 16 before `from`.
    static __device__ uint2 load(const std::byte* from) {
      if constexpr (!kExact) return *reinterpret_cast<const uint2*>(from);
      const auto other = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(from) ^
                                                            std::uintptr_t{16});
      return make_uint2(*reinterpret_cast<const std::uint32_t*>(from),
                        *reinterpret_cast<const std::uint32_t*>(other));
    }

    /// Each lane computes the scales of one row; all lanes read them.
    static __device__ void share_scales(const std::byte* box, Scale* shared, const Lane& at) {
      const int row = at.first_row % kBoxRows + at.own;
      const uint2 codes = *reinterpret_cast<const uint2*>(box + kBox.scales_at() +
                                                          row * kBox.scales + at.half * kGroups);
      const float whole =
          __half2float(*reinterpret_cast<const __half*>(box + kBox.rest_at() + row * kBox.rest));
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const std::uint32_t word = i < 4 ? codes.x : codes.y;
        const float scale = whole * static_cast<float>(static_cast<std::int8_t>(word >> i % 4 * 8));
        if constexpr (kExact) {
          shared[at.own * kGroups + i] = scale;
        } else {
          shared[at.own * kGroups + i] = twice(scale);
        }
      }
      __syncwarp();
    }

    /// Returns the group of 32 columns of a step.
    [[nodiscard]] __device__ int group_of(int step) const {
      return (step / 2 ^ odd) + 2 * (step % 2);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      constexpr std::uint32_t k160 = 0x43204320U;  // 128 plus the codes' zero
      uint2 words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint2 word = load(low[step / 2] + i * 8 * kBox.codes);
        word.x = word.x >> 4 * (step % 2) & 0x0f0f0f0fU;
        word.y = word.y >> 4 * (step % 2) & 0x0f0f0f0fU;
        const int shift = 2 * group_of(step);
        word.x |= high[i].x >> shift << 4 & 0x30303030U;
        word.y |= high[i].y >> shift << 4 & 0x30303030U;
        words[i] = word;
      }
      into_operands(words, to,
                    [](std::uint32_t word, int, std::uint32_t& first, std::uint32_t& second) {
                      four_bytes(word, first, second);
                      first = minus(first, k160);
                      second = minus(second, k160);
                    });
    }

    [[nodiscard]] __device__ int column(int step) const {
      return first_column + 32 * group_of(step);
    }
    [[nodiscard]] __device__ Scale scale(int product, int row) const {
      const int group = 2 * group_of(product / 2) + (kExact ? product % 2 : 0);
      return scales[8 * row * kGroups + group];
    }

    const std::byte* low[2];
    uint2 high[4];
    int first_column;
    int odd;
    const Scale* scales;
  };

  /// Operands for many tokens: scales go on weights, in bf16.
  class Operands {
   public:
    __device__ Operands(const std::byte* unit, std::byte* scales, const OperandLane& at)
        : Operands(OperandBox<kRowBytes>(unit, at), scales, at) {
      share_scales(unit, reinterpret_cast<uint4*>(scales), at);
    }

    /// Loads a chunk. In each 128 columns there are four groups of 32: first the lower halves of 64
    /// bytes, then the upper halves. All four groups have their upper bits in the same bytes.
    __device__ void load(int chunk, ChunkOperands& to) const {
      constexpr std::uint32_t kMinusHalf = 0xbf00bf00U;  // -32 / 64, twice
      const int half = chunk / 2;
      const bool upper = chunk % 2 == 1;
      uint4 scale[2];  // scales of the lane's two rows, indexed by product
#pragma unroll
      for (int row = 0; row < 2; ++row) scale[row] = scales_[row * (8 * kRowScales) + chunk];
#pragma unroll
      for (int step = 0; step < kChunkSteps; ++step) {
        const int low_byte = half * 64 + step * 16;
        const int high_byte = half * 32 + step % 2 * 16;
        const int shift = 4 * (chunk % 2) + 2 * (step / 2);  // shift of the group's upper bits
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = i / 2 * 8;
          const std::uint32_t low =
              spread(two_bytes(low_ + i % 2 * (8 * kBox.codes) + (low_byte ^ low_turned_) + at));
          const std::uint32_t high =
              spread(two_bytes(high_ + i % 2 * (8 * kBox.high) + (high_byte ^ high_turned_) + at));
          const std::uint32_t code =
              ((upper ? low >> 4U : low) & 0x000f000fU) | ((high >> shift << 4U) & 0x00300030U);
          const uint4& of = scale[i % 2];
          to[step][i] = times(fma_of(code, kBytesOver64, kMinusHalf), step == 0   ? of.x
                                                                      : step == 1 ? of.y
                                                                      : step == 2 ? of.z
                                                                                  : of.w);
        }
      }
    }

   private:
    static constexpr int kRowScales = 4;  // uint4 of a row's scales, each for a chunk
    static_assert(kOperandRows * kRowScales * sizeof(uint4) == kWarpScaleBytes);

    __device__ Operands(const OperandBox<kRowBytes>& of, const std::byte* scales,
                        const OperandLane& at)
        : low_(of.box + of.row * kBox.codes + 2 * at.place),
          high_(of.box + kBox.high_at() + of.row * kBox.high + 2 * at.place),
          low_turned_(CodeBox::code_place(of.row, 0)),
          high_turned_(CodeBox::high_place(of.row, 0)),
          scales_(reinterpret_cast<const uint4*>(scales) + at.quad * kRowScales) {}

    /// Each lane computes the scales of half of a row, times 64.
    static __device__ void share_scales(const std::byte* unit, uint4* scales,
                                        const OperandLane& at) {
      const int own = at.own % kOperandRows;
      const int half = at.own / kOperandRows;
      const int row = at.first_row + own;
      const std::byte* box = unit + row / kBoxRows * (kBoxRows * kRowBytes);
      const uint2 codes = *reinterpret_cast<const uint2*>(box + kBox.scales_at() +
                                                          row % kBoxRows * kBox.scales + half * 8);
      const float whole = 64.0F * __half2float(*reinterpret_cast<const __half*>(
                                      box + kBox.rest_at() + row % kBoxRows * kBox.rest));
      const auto scale = [&](int i) {
        const std::uint32_t word = i < 4 ? codes.x : codes.y;
        return twice(whole * static_cast<float>(static_cast<std::int8_t>(word >> i % 4 * 8)));
      };
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scales[own * kRowScales + half * 2 + i] =
            make_uint4(scale(4 * i), scale(4 * i + 1), scale(4 * i + 2), scale(4 * i + 3));
      }
      __syncwarp();
    }

    const std::byte* low_;
    const std::byte* high_;
    /// Mask that maps an offset to its place: a row's pieces of 16 bytes are permuted.
    int low_turned_;
    int high_turned_;
    const uint4* scales_;
  };

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    add_boxed<Sizes, Codes<Sizes::kExact>>(weights, inputs, scales, at, sums);
  }
};

}  // namespace

CodesKind q6_k() { return kind_of<Q6K>(); }

}  // namespace weft::cuda::codes
