#include <cstdint>
#include <type_traits>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q6_k: scales of 16 columns. Up to kExactTokens tokens they go on sums; a product has
/// 16 columns under one scale, so a lane has four columns of either 16. For more tokens they go on
/// weights, and a lane has eight columns side by side.
struct Q6K : BoxedEncoding<DType::kQ6_K, 226 << 10> {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  template <bool kExact>
  struct Codes {
    using Scale = std::conditional_t<kExact, float, std::uint32_t>;
    [[maybe_unused]] static constexpr int kSteps =
        4;  // pairs of groups of 32: low bits in low and high halves
    [[maybe_unused]] static constexpr int kProducts = kExact ? 1 : 0;
    [[maybe_unused]] static constexpr bool kSplitColumns = kExact;
    static constexpr int kGroups = 8;  // of 16 columns, of a half
    static __device__ constexpr int step_of(int chunk, int turn) { return chunk + 2 * turn; }
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

    /// The first of a lane's bytes of a half of a row's part, which has `bytes`.
    static __device__ int byte_of(const Lane& at, int bytes, int pair) {
      return at.half * bytes + 32 * pair + (kExact ? 4 : 8) * at.place;
    }

    /// Eight codes' bits: those of eight columns, or of four and four. Rows of a warp's lanes are
    /// such that bytes 16 further stand there or 16 before.
    static __device__ uint2 load(const std::byte* from) {
      if constexpr (!kExact) return *reinterpret_cast<const uint2*>(from);
      const auto other = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(from) ^
                                                            std::uintptr_t{16});
      return make_uint2(*reinterpret_cast<const std::uint32_t*>(from),
                        *reinterpret_cast<const std::uint32_t*>(other));
    }

    /// Every lane makes the scales of a row, which all read.
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

    /// The group of 32 columns of a step.
    [[nodiscard]] __device__ int group_of(int step) const {
      return (step / 2 ^ odd) + 2 * (step % 2);
    }

    __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
      constexpr std::uint32_t k160 = 0x43204320U;  // 128 and the codes' zero
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

  using Weights = BoxedWeights<Codes<false>, kBox.row_bytes()>;

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums) {
    add_boxed<Sizes, Codes<Sizes::kExact>>(weights, inputs, scales, at, sums);
  }
#endif
};

}  // namespace

CodesKind q6_k() { return kind_of<Q6K>(); }

}  // namespace weft::cuda::codes
