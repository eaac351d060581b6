// Unpacks blocks of encoded weights to codes and scales. For linear_cpu.cc. The include guard is
// Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_LINEAR_UNPACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_UNPACK_INL_H
#undef WEFT_KERNELS_LINEAR_UNPACK_INL_H
#else
#define WEFT_KERNELS_LINEAR_UNPACK_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/core/encodings.h"
#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/integer_codes.h"
#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/codes/linear_unpack_groups-inl.h"
#include "weft/kernels/linear/codes/linear_words-inl.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/unroll.h"

// Code for processors without vectors of 128 bits decodes weights instead.
#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// --- Blocks of 32 codes: the low halves of 16 bytes, then their high halves.

HWY_ATTR void unpack_q4_0(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  for_half_bytes(blocks.at(2), [&](int word, Words codes) HWY_ATTR { to.put_codes(word, codes); });
}

HWY_ATTR void unpack_q4_1(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  to.put_minimum(0, load_f16(blocks.at(2)));
  for_half_bytes(blocks.at(4), [&](int word, Words codes) HWY_ATTR { to.put_codes(word, codes); });
}

HWY_ATTR void unpack_five(const Blocks& codes, Words high, const Unpacked& to) {
  for_half_bytes(codes, [&](int word, Words low)
                            HWY_ATTR { to.put_codes(word, low | spread_bits<4>(high, word)); });
}

HWY_ATTR void unpack_q5_0(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  unpack_five(blocks.at(6), load_each<std::uint32_t>(blocks.at(2)), to);
}

HWY_ATTR void unpack_q5_1(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  to.put_minimum(0, load_f16(blocks.at(2)));
  unpack_five(blocks.at(8), load_each<std::uint32_t>(blocks.at(4)), to);
}

/// Replaces the code in every byte by the table's number plus the offset.
template <std::int32_t kOffset>
HWY_ATTR void unpack_table(const Blocks& codes, const std::array<std::int8_t, 16>& table,
                           int first_word, const Unpacked& to) {
  alignas(16) std::array<std::uint8_t, 16> moved;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i] = static_cast<std::uint8_t>(table[i] + kOffset);
  }
  const hn::Repartition<std::uint8_t, decltype(kWords)> bytes;
  const auto all = hn::LoadDup128(bytes, moved.data());
  for_half_bytes(codes, [&](int word, Words index) HWY_ATTR {
    to.put_codes(first_word + word, each<Words>([&](int v) HWY_ATTR {
                   return hn::BitCast(kWords,
                                      hn::TableLookupBytes(all, hn::BitCast(bytes, index.part[v])));
                 }));
  });
}

constexpr std::int32_t kIq4Offset = 128;
constexpr std::int32_t kE2M1Offset = 12;

HWY_ATTR void unpack_iq4_nl(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  unpack_table<kIq4Offset>(blocks.at(2), kIq4Values, 0, to);
}

HWY_ATTR void unpack_mxfp4(const Blocks& blocks, const Unpacked& to) {
  const Words exponent = load_each<std::uint8_t>(blocks);
  // 2^(e - 128); the two smallest scales are subnormal.
  to.put_scale(0, each<Numbers>([&](int v) HWY_ATTR {
                 const auto own = exponent.part[v];
                 const auto normal = hn::ShiftLeft<23>(hn::Sub(own, hn::Set(kWords, 1)));
                 const auto small = hn::Shl(hn::Set(kWords, 0x00200000U), own);
                 const auto is_small =
                     hn::Or(hn::Eq(own, hn::Zero(kWords)), hn::Eq(own, hn::Set(kWords, 1)));
                 return hn::BitCast(kFloats, hn::IfThenElse(is_small, small, normal));
               }));
  unpack_table<kE2M1Offset>(blocks.at(1), kE2M1Values, 0, to);
}

// --- Blocks of 256.

HWY_ATTR void unpack_iq4_xs(const Blocks& blocks, const Unpacked& to) {
  const Numbers scale = load_f16(blocks);
  const Words high = load_each<std::uint16_t>(blocks.at(2));
  const Words low = load_each<std::uint32_t>(blocks.at(4));
  for (int group = 0; group < 8; ++group) {
    const Words code = bits_of(low, 4 * group, 15) | left<4>(bits_of(high, 2 * group, 3));
    to.put_scale(group, scale * integers(code, 32));
    unpack_table<kIq4Offset>(blocks.at(8 + 16 * group), kIq4Values, 8 * group, to);
  }
}

/// Unpacks the head of q4_k and q5_k: scale and minimum, then 12 bytes of six-bit numbers.
HWY_INLINE void unpack_sixes(const Blocks& blocks, const Unpacked& to) {
  const Numbers scale = load_f16(blocks);
  const Numbers minus = negative(load_f16(blocks.at(2)));
  const Words sixes[] = {load_each<std::uint32_t>(blocks.at(4)),
                         load_each<std::uint32_t>(blocks.at(8)),
                         load_each<std::uint32_t>(blocks.at(12))};
  for (int group = 0; group < 8; ++group) {
    const int at = group % 4 * 8;
    Words own_scale = bits_of(sixes[0], at, 63);
    Words own_minimum = bits_of(sixes[1], at, 63);
    if (group >= 4) {
      own_scale = bits_of(sixes[2], at, 15) | left<4>(bits_of(sixes[0], at + 6, 3));
      own_minimum = bits_of(sixes[2], at + 4, 15) | left<4>(bits_of(sixes[1], at + 6, 3));
    }
    to.put_scale(group, scale * integers(own_scale));
    to.put_minimum(group, minus * integers(own_minimum));
  }
}

HWY_ATTR void unpack_q4_k(const Blocks& blocks, const Unpacked& to) {
  unpack_sixes(blocks, to);
  for (std::int64_t part = 0; part < 8; ++part) {
    const Four low = load_four(blocks.at(16 + 16 * part));
    const std::int64_t first = part / 2 * 16 + part % 2 * 4;
    WEFT_UNROLL
    for (int word = 0; word < 4; ++word) {
      to.put_codes(first + word, low_halves(low.words[word]));
      to.put_codes(first + word + 8, high_halves(low.words[word]));
    }
  }
}

HWY_ATTR void unpack_q5_k(const Blocks& blocks, const Unpacked& to) {
  unpack_sixes(blocks, to);
  for (std::int64_t side = 0; side < 2; ++side) {
    const Four high = load_four(blocks.at(16 + 16 * side));
    for (std::int64_t pair = 0; pair < 4; ++pair) {
      const Four low = load_four(blocks.at(48 + 32 * pair + 16 * side));
      const std::int64_t first = pair * 16 + side * 4;
      const int bit = static_cast<int>(pair) * 2;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        to.put_codes(first + word,
                     with_high<4>(low_halves(low.words[word]), high.words[word], bit, 1));
        to.put_codes(first + word + 8,
                     with_high<4>(high_halves(low.words[word]), high.words[word], bit + 1, 1));
      }
    }
  }
}

HWY_ATTR void unpack_q6_k(const Blocks& blocks, const Unpacked& to) {
  const Numbers scale = load_f16(blocks.at(208));
  const Four groups = load_four(blocks.at(192));
  for (int group = 0; group < 16; ++group) {
    // Flipping the sign bit adds 128 to an int8.
    to.put_scale(group, scale * integers(flipped(byte_of(groups, group)), 128));
  }
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t side = 0; side < 2; ++side) {
      const Four high = load_four(blocks.at(128 + half * 32 + side * 16));
      WEFT_UNROLL
      for (int pair = 0; pair < 2; ++pair) {
        const Four low = load_four(blocks.at(half * 64 + std::int64_t{pair} * 32 + side * 16));
        const std::int64_t first = half * 32 + std::int64_t{pair} * 8 + side * 4;
        WEFT_UNROLL
        for (int word = 0; word < 4; ++word) {
          to.put_codes(first + word,
                       with_high<4>(low_halves(low.words[word]), high.words[word], 2 * pair, 3));
          to.put_codes(first + word + 16, with_high<4>(high_halves(low.words[word]),
                                                       high.words[word], 2 * pair + 4, 3));
        }
      }
    }
  }
}

HWY_ATTR void unpack_q2_k(const Blocks& blocks, const Unpacked& to) {
  const Numbers scale = load_f16(blocks.at(80));
  const Numbers minus = negative(load_f16(blocks.at(82)));
  const Four groups = load_four(blocks);
  for (int group = 0; group < 16; ++group) {
    const Words both = byte_of(groups, group);
    to.put_scale(group, scale * integers(bits_of(both, 0, 15)));
    to.put_minimum(group, minus * integers(bits_of(both, 4, 15)));
  }
  for (std::int64_t part = 0; part < 4; ++part) {
    const Four four = load_four(blocks.at(16 + 16 * part));
    for (int pair = 0; pair < 4; ++pair) {
      const std::int64_t first = part / 2 * 32 + std::int64_t{pair} * 8 + part % 2 * 4;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        to.put_codes(first + word, bytes_of(four.words[word], 2 * pair, 3));
      }
    }
  }
}

HWY_ATTR void unpack_q3_k(const Blocks& blocks, const Unpacked& to) {
  const Numbers scale = load_f16(blocks.at(108));
  Four sixes;  // only three of its words are used
  for (int word = 0; word < 3; ++word) {
    sixes.words[word] = load_each<std::uint32_t>(blocks.at(96 + std::int64_t{4} * word));
  }
  for (int group = 0; group < 16; ++group) {
    const Words low = bits_of(byte_of(sixes, group % 8), group / 8 * 4, 15);
    const Words high = bits_of(byte_of(sixes, 8 + group % 4), group / 4 * 2, 3);
    to.put_scale(group, scale * integers(low | left<4>(high), 32));
  }
  for (std::int64_t part = 0; part < 4; ++part) {
    const Four four = load_four(blocks.at(32 + 16 * part));
    const Four third = load_four(blocks.at(part % 2 * 16));
    for (int pair = 0; pair < 4; ++pair) {
      const std::int64_t first = part / 2 * 32 + std::int64_t{pair} * 8 + part % 2 * 4;
      const int bit = static_cast<int>(part / 2) * 4 + pair;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        const Words low = bytes_of(four.words[word], 2 * pair, 3);
        to.put_codes(first + word, with_high<2>(low, third.words[word], bit, 1));
      }
    }
  }
}

using UnpackBlocks = void (*)(const Blocks&, const Unpacked&);

/// How blocks of one encoding are unpacked, and the resulting properties of CodedPanel.
struct Unpacker {
  UnpackBlocks unpack = nullptr;
  std::int32_t offset = 0;
  std::int32_t largest = 0;
  std::int32_t group_words = CodedPlan::kCodeWords;
  bool has_minimum = false;
  bool has_wide_scales = false;
};

/// The unpacker of an encoding. Each encoding with BlockWords is registered here; a missing one
/// fails to compile.
template <DType kType>
struct UnpackerOf;

/// The function, the offset that it adds to all codes, and the largest code (0: levels - 1).
template <UnpackBlocks kFunction, std::int32_t kOffsetOfCodes = 0, std::int32_t kLargestCode = 0>
struct Unpacks {
  static constexpr UnpackBlocks kUnpack = kFunction;
  static constexpr std::int32_t kOffset = kOffsetOfCodes;
  static constexpr std::int32_t kLargest = kLargestCode;
};

template <>
struct UnpackerOf<DType::kQ4_0> : Unpacks<unpack_q4_0, 8> {};
template <>
struct UnpackerOf<DType::kQ4_1> : Unpacks<unpack_q4_1> {};
template <>
struct UnpackerOf<DType::kQ5_0> : Unpacks<unpack_q5_0, 16> {};
template <>
struct UnpackerOf<DType::kQ5_1> : Unpacks<unpack_q5_1> {};
template <>
struct UnpackerOf<DType::kQ2_K> : Unpacks<unpack_q2_k> {};
template <>
struct UnpackerOf<DType::kQ3_K> : Unpacks<unpack_q3_k, 4> {};
template <>
struct UnpackerOf<DType::kQ4_K> : Unpacks<unpack_q4_k> {};
template <>
struct UnpackerOf<DType::kQ5_K> : Unpacks<unpack_q5_k> {};
template <>
struct UnpackerOf<DType::kQ6_K> : Unpacks<unpack_q6_k, 32> {};
template <>
struct UnpackerOf<DType::kIQ4_NL> : Unpacks<unpack_iq4_nl, kIq4Offset, 255> {};
template <>
struct UnpackerOf<DType::kIQ4_XS> : Unpacks<unpack_iq4_xs, kIq4Offset, 255> {};
template <>
struct UnpackerOf<DType::kMXFP4> : Unpacks<unpack_mxfp4, kE2M1Offset, 2 * kE2M1Offset> {};
template <>
struct UnpackerOf<DType::kQ2_B32> : Unpacks<unpack_planes<2, 32>> {};
template <>
struct UnpackerOf<DType::kQ3_B32> : Unpacks<unpack_planes<3, 32>> {};
template <>
struct UnpackerOf<DType::kQ4_B32> : Unpacks<unpack_planes<4, 32>> {};
template <>
struct UnpackerOf<DType::kQ4_B64> : Unpacks<unpack_planes<4, 64>> {};
template <>
struct UnpackerOf<DType::kQ5_B64> : Unpacks<unpack_planes<5, 64>> {};
template <>
struct UnpackerOf<DType::kQ6_B64> : Unpacks<unpack_planes<6, 64>> {};
template <>
struct UnpackerOf<DType::kQ8_B32> : Unpacks<unpack_planes<8, 32>> {};
template <DType kType>
  requires(encoding_row(kType).has_zero)
struct UnpackerOf<kType> : Unpacks<unpack_integers<kType>, integer_codes_of(kType)->middle()> {};

/// Returns no function for an encoding without BlockWords.
template <std::size_t kRow>
constexpr Unpacker unpacker_of_row() {
  constexpr const Encoding& kEncoding = kEncodings[kRow];
  if constexpr (!kEncoding.words.exist) {
    return {};
  } else {
    using Own = UnpackerOf<kEncoding.dtype>;
    const bool is_last = Own::kLargest == 0;
    return {.unpack = Own::kUnpack,
            .offset = Own::kOffset,
            .largest = is_last ? static_cast<std::int32_t>(kEncoding.levels - 1) : Own::kLargest,
            .group_words = kEncoding.group < CodedPlan::kBlockInputs ? CodedPlan::kCodeWords / 2
                                                                     : CodedPlan::kCodeWords,
            .has_minimum = kEncoding.has_minimum || kEncoding.has_zero,
            // Scales are f16 times a small integer, f32, or a power of two of any size.
            .has_wide_scales = kEncoding.scale_type != ScaleType::kF16};
  }
}

template <std::size_t... kRow>
constexpr std::array<Unpacker, sizeof...(kRow)> unpackers_of_all(
    std::index_sequence<kRow...> /*rows*/) {
  return {unpacker_of_row<kRow>()...};
}
constexpr auto kUnpackers = unpackers_of_all(std::make_index_sequence<kEncodings.size()>());

/// Null where codes are not unpacked: for plain types, and for q8_0, which is stored as codes.
constexpr const Unpacker* unpacker_of(DType dtype) {
  const auto row = static_cast<std::size_t>(dtype) - kFirstEncoding;
  return row < kUnpackers.size() && kUnpackers[row].unpack != nullptr ? &kUnpackers[row] : nullptr;
}

/// Returns the memory that will be unpacked two steps later. Prefetching two steps ahead brings it
/// in time even where a step has few rows. Past the end of a panel of `own` bytes, that memory is
/// in the panel `step` panels after this one.
HWY_INLINE const std::byte* ahead_of(const PackedPanel& panel, const std::byte* from,
                                     std::int64_t bytes, std::int64_t own, std::int64_t step) {
  const std::int64_t at = from - panel.data + 2 * bytes;
  if (at < own) return panel.data + at;
  return panel.data + step * panel.layout->panel_bytes() + (at - own);
}

/// q8_0: codes are multiplied where they lie, and only scales are widened.
HWY_ATTR CodedPanel use_q8_0(const PackedPanel& panel, std::int64_t first, std::int64_t count,
                             std::int64_t panels, CodedGroup::Room& room) {
  const PackedLayout& layout = *panel.layout;
  const std::byte* scales = panel.data + layout.scale_offset(0, first);
  for (std::int64_t block = 0; block < count / PackedLayout::kBlock; ++block) {
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(scales + block * kOutputs * 2);
    for (std::int64_t lane = 0; lane < kOutputs; lane += kWidth) {
      const auto wide = hn::PromoteTo(kFloats, hn::LoadU(kHalves, halves + lane));
      hn::Store(wide, kFloats, room.scales.data() + block * kOutputs + lane);
    }
  }
  const std::byte* codes = panel.data + layout.offset(0, first);
  const std::int64_t bytes = count * kOutputs;
  return {.codes = codes,
          .scales = room.scales.data(),
          .offset = 128,
          .is_signed = true,
          .ahead = ahead_of(panel, codes, bytes, layout.inputs * kOutputs, panels),
          .ahead_bytes = bytes};
}

/// Whether weights of a type are multiplied by their codes. With AVX-512 but without products of
/// int8, prompts are faster with q8_0 widened to f32, which takes no decoding (half as fast as
/// bf16).
bool has_codes(DType dtype) {
#if HWY_TARGET == HWY_AVX3
  if (dtype == DType::kQ8_0) return multiplies_int8(cpu_target());
#else
  if (dtype == DType::kQ8_0) return true;
#endif
  return unpacker_of(dtype) != nullptr;
}

/// Whether all codes of the type are below 64, so that bytes can be multiplied as bytes.
[[maybe_unused]] bool has_narrow_codes(DType dtype) {
  const Unpacker* found = unpacker_of(dtype);
  return found != nullptr && found->largest < 64;
}

/// Whether a scale covers 32 inputs, like a row's scales, rather than 16.
[[maybe_unused]] bool has_whole_groups(DType dtype) {
  const Unpacker* found = unpacker_of(dtype);
  return found == nullptr || found->group_words == CodedPlan::kCodeWords;
}

/// Unpacks inputs [first, first + count) of a panel, whole blocks. `panels` are used together.
HWY_ATTR CodedPanel unpack(const PackedPanel& panel, std::int64_t first, std::int64_t count,
                           std::int64_t panels, CodedGroup::Room& room) {
  const PackedLayout& layout = *panel.layout;
  if (layout.dtype == DType::kQ8_0) return use_q8_0(panel, first, count, panels, room);
  const Unpacker& unpacker = *unpacker_of(layout.dtype);
  const DTypeBlock block = block_of(layout.dtype);
  const std::int64_t groups = block.elements / (std::int64_t{4} * unpacker.group_words);
  const std::byte* from = panel.data + layout.block_row_offset(first);
  for (std::int64_t i = 0; i < count / block.elements; ++i) {
    const std::int64_t group = i * groups * kOutputs;
    unpacker.unpack({from + i * kOutputs * block.bytes},
                    {.codes = room.codes.data() + i * block.elements * kOutputs,
                     .scales = room.scales.data() + group,
                     .minimums = room.minimums.data() + group});
  }
  const std::int64_t bytes = count / block.elements * kOutputs * block.bytes;
  return {.codes = room.codes.data(),
          .scales = room.scales.data(),
          .minimums = unpacker.has_minimum ? room.minimums.data() : nullptr,
          .offset = unpacker.offset,
          .group_words = unpacker.group_words,
          .largest = unpacker.largest,
          .has_wide_scales = unpacker.has_wide_scales,
          .ahead = ahead_of(panel, from, bytes, layout.block_row_offset(layout.inputs), panels),
          .ahead_bytes = bytes};
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // WEFT_KERNELS_LINEAR_UNPACK_INL_H
