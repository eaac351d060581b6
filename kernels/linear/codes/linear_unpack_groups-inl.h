// Unpacks blocks of Inferflow's and of Hugging Face's weights to codes and scales. For
// linear_cpu.cc. The include guard is Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_LINEAR_UNPACK_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_UNPACK_GROUPS_INL_H
#undef WEFT_KERNELS_LINEAR_UNPACK_GROUPS_INL_H
#else
#define WEFT_KERNELS_LINEAR_UNPACK_GROUPS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/encoding/bit_planes.h"
#include "weft/kernels/encoding/integer_codes.h"
#include "weft/kernels/linear/codes/linear_words-inl.h"
#include "weft/kernels/simd/unroll.h"

// Code for processors without vectors of 128 bits decodes weights instead.
#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// --- Blocks of planes of bits, with one scale and one minimum.

/// Puts one plane's bits above the first kBelow bits of the codes, and returns the plane's bytes.
template <unsigned kWidth, int kCount, unsigned kBelow>
HWY_INLINE std::int64_t add_plane(const Blocks& blocks, Words* codes) {
  constexpr int kPlaneWords = kCount * static_cast<int>(kWidth) / 32;
  Words plane[kPlaneWords];
  for (int word = 0; word < kPlaneWords; ++word) {
    plane[word] = load_each<std::uint32_t>(blocks.at(std::int64_t{4} * word));
  }
  for (int word = 0; word < kCount / 4; ++word) {
    const Words bits = bytes_of(plane[word % kPlaneWords],
                                word / kPlaneWords * static_cast<int>(kWidth), (1U << kWidth) - 1);
    codes[word] = codes[word] | left<static_cast<int>(kBelow)>(bits);
  }
  return 4 * kPlaneWords;
}

template <unsigned kBits, int kCount>
HWY_ATTR void unpack_planes(const Blocks& blocks, const Unpacked& to) {
  for (int group = 0; group < kCount / 32; ++group) {
    to.put_scale(group, load_f16(blocks));
    to.put_minimum(group, load_f16(blocks.at(2)));
  }
  Words codes[kCount / 4];
  for (Words& word : codes) word = each<Words>([](int) HWY_ATTR { return hn::Zero(kWords); });
  std::int64_t at = BitPlanes::kCodesAt;
  if constexpr ((kBits & 8U) != 0) at += add_plane<8, kCount, 0>(blocks.at(at), codes);
  if constexpr ((kBits & 4U) != 0) at += add_plane<4, kCount, 0>(blocks.at(at), codes);
  if constexpr ((kBits & 2U) != 0) at += add_plane<2, kCount, (kBits & 4U)>(blocks.at(at), codes);
  if constexpr ((kBits & 1U) != 0) add_plane<1, kCount, (kBits & 6U)>(blocks.at(at), codes);
  for (int word = 0; word < kCount / 4; ++word) to.put_codes(word, codes[word]);
}

// --- Integers in groups, each with a zero (layout: integer_codes.h).

/// Unpacks the 2-bit codes of runs [run, run + 2): a run has 8 bytes.
HWY_INLINE void unpack_two_bits(const Blocks& codes, std::int64_t run, const Unpacked& to) {
  const Four four = load_four(codes.at(8 * run));
  WEFT_UNROLL
  for (int word = 0; word < 4; ++word) {
    const std::int64_t first = 8 * (run + word / 2) + word % 2;
    WEFT_UNROLL
    for (int part = 0; part < 4; ++part) {
      to.put_codes(first + std::int64_t{2} * part, bytes_of(four.words[word], 2 * part, 3));
    }
  }
}

/// Unpacks a run of 3-bit codes, which has 12 bytes.
HWY_INLINE void unpack_three_bits(const Blocks& codes, std::int64_t run, const Unpacked& to) {
  const Blocks own = codes.at(12 * run);
  const Words low[] = {load_each<std::uint32_t>(own), load_each<std::uint32_t>(own.at(4))};
  const Words high = load_each<std::uint32_t>(own.at(8));
  WEFT_UNROLL
  for (int word = 0; word < 8; ++word) {
    const Words two = bytes_of(low[word % 2], word / 2 * 2, 3);
    to.put_codes(8 * run + word, two | spread_bits<2>(high, word));
  }
}

template <int kBits>
HWY_INLINE void unpack_runs(const Blocks& codes, std::int64_t runs, const Unpacked& to) {
  for (std::int64_t run = 0; run < runs; ++run) {
    if constexpr (kBits == 2) {
      if (run % 2 == 0) unpack_two_bits(codes, run, to);
    } else if constexpr (kBits == 3) {
      unpack_three_bits(codes, run, to);
    } else if constexpr (kBits == 4) {
      for_half_bytes(codes.at(16 * run),
                     [&](int word, Words half) HWY_ATTR { to.put_codes(8 * run + word, half); });
    } else {
      for (std::int64_t half = 0; half < 2; ++half) {
        const Four four = load_four(codes.at(32 * run + 16 * half));
        for (int word = 0; word < 4; ++word) {
          to.put_codes(8 * run + 4 * half + word, four.words[word]);
        }
      }
    }
  }
}

/// Subtracts the middle of the codes' range. The zeros of a symmetric weight are all there, so it
/// needs no minimums.
template <DType kType>
HWY_ATTR void unpack_integers(const Blocks& blocks, const Unpacked& to) {
  constexpr IntegerCodes kCodes = *integer_codes_of(kType);
  constexpr std::int64_t kRuns = kCodes.group / IntegerCodes::kRun;
  const Words zeros = load_each<std::uint8_t>(blocks.at(kCodes.zeros_at()));
  for (std::int64_t group = 0; group < kCodes.groups; ++group) {
    const Blocks at = blocks.at(group * kCodes.scale_bytes());
    const Numbers scale = kCodes.bits == 8 ? load_f32(at) : load_f16(at);
    const Words zero = kCodes.groups == 1 ? zeros : bits_of(zeros, static_cast<int>(4 * group), 15);
    const Numbers minimum = scale * negative(integers(zero, kCodes.middle()));
    for (std::int64_t run = group * kRuns; run < (group + 1) * kRuns; ++run) {
      to.put_scale(run, scale);
      to.put_minimum(run, minimum);
    }
  }
  unpack_runs<kCodes.bits>(blocks.at(kCodes.codes_at()), kRuns * kCodes.groups, to);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // WEFT_KERNELS_LINEAR_UNPACK_GROUPS_INL_H
