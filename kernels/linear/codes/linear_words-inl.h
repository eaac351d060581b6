// Shared by the unpackers of encoded weights. For linear_cpu.cc. The include guard is Highway's:
// each instruction set reads the file once.
#if defined(WEFT_KERNELS_LINEAR_WORDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_WORDS_INL_H
#undef WEFT_KERNELS_LINEAR_WORDS_INL_H
#else
#define WEFT_KERNELS_LINEAR_WORDS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_widen-inl.h"
#include "weft/kernels/linear/packed_layout.h"
#include "weft/kernels/linear/turned_blocks.h"
#include "weft/kernels/simd/unroll.h"

// Code for processors without vectors of 128 bits decodes weights instead.
#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kOutputs = PackedLayout::kPanelOutputs;
constexpr std::int64_t kWordBytes = kOutputs * 4;

constexpr hn::RebindToUnsigned<decltype(kFloats)> kWords;
constexpr hn::RebindToSigned<decltype(kFloats)> kIntegers;
constexpr hn::Rebind<hwy::float16_t, decltype(kFloats)> kHalves;

// Highway's NEON vectors have constructors that use NEON. A struct of vectors declares its own
// constructor, since GCC would compile an implicit one for the baseline processor.

/// A 32-bit word for each of the 16 outputs.
struct Words {
  // NOLINTNEXTLINE(modernize-use-equals-default): for GCC, as said above
  HWY_INLINE Words() {}

  hn::Vec<decltype(kWords)> part[kPanelVectors];
};

/// An f32 for each of the 16 outputs.
struct Numbers {
  // NOLINTNEXTLINE(modernize-use-equals-default): as of Words
  HWY_INLINE Numbers() {}

  Floats part[kPanelVectors];
};

/// Makes Words or Numbers, vector by vector.
template <class All, class Make>
HWY_INLINE All each(const Make& make) {
  All all;
  WEFT_UNROLL
  for (int v = 0; v < kPanelVectors; ++v) all.part[v] = make(v);
  return all;
}

HWY_INLINE Words operator|(const Words& a, const Words& b) {
  return each<Words>([&](int v) HWY_ATTR { return hn::Or(a.part[v], b.part[v]); });
}
HWY_INLINE Numbers operator*(const Numbers& a, const Numbers& b) {
  return each<Numbers>([&](int v) HWY_ATTR { return hn::Mul(a.part[v], b.part[v]); });
}
HWY_INLINE Numbers negative(const Numbers& numbers) {
  return each<Numbers>([&](int v) HWY_ATTR { return hn::Sub(hn::Zero(kFloats), numbers.part[v]); });
}

template <int kBits>
HWY_INLINE Words left(const Words& words) {
  return each<Words>([&](int v) HWY_ATTR { return hn::ShiftLeft<kBits>(words.part[v]); });
}

/// Returns words - offset as f32; words are small integers.
HWY_INLINE Numbers integers(const Words& words, std::int32_t offset = 0) {
  return each<Numbers>([&](int v) HWY_ATTR {
    const auto word = hn::BitCast(kIntegers, words.part[v]);
    return hn::ConvertTo(kFloats, hn::Sub(word, hn::Set(kIntegers, offset)));
  });
}

/// Reinterprets words as the bits of f32.
HWY_INLINE Numbers as_floats(const Words& words) {
  return each<Numbers>([&](int v) HWY_ATTR { return hn::BitCast(kFloats, words.part[v]); });
}

/// Adds 128 to int8, each of which is the low byte of a word.
HWY_INLINE Words flipped(const Words& words) {
  return each<Words>([&](int v) HWY_ATTR { return hn::Xor(words.part[v], hn::Set(kWords, 128)); });
}

/// The destination of one row of blocks: the inputs of a block for 16 outputs.
struct Unpacked {
  std::byte* codes;
  float* scales;
  float* minimums;

  HWY_INLINE void put_codes(std::int64_t word, const Words& value) const {
    auto* to = reinterpret_cast<std::uint32_t*>(codes + word * kWordBytes);
    for (int v = 0; v < kPanelVectors; ++v) hn::Store(value.part[v], kWords, to + v * kWidth);
  }
  HWY_INLINE void put_scale(std::int64_t group, const Numbers& value) const {
    put(value, scales + group * kOutputs);
  }
  HWY_INLINE void put_minimum(std::int64_t group, const Numbers& value) const {
    put(value, minimums + group * kOutputs);
  }

 private:
  static HWY_INLINE void put(const Numbers& value, float* to) {
    for (int v = 0; v < kPanelVectors; ++v) hn::Store(value.part[v], kFloats, to + v * kWidth);
  }
};

/// A row of 16 turned blocks (TurnedBlocks) from byte `at` of its blocks on.
struct Blocks {
  const std::byte* from;

  [[nodiscard]] Blocks at(std::int64_t offset) const { return {from + kOutputs * offset}; }
};

/// Loads a unit of type T from each block.
template <class T>
HWY_INLINE Words load_each(const Blocks& blocks) {
  const hn::Rebind<T, decltype(kWords)> units;
  const auto* from = reinterpret_cast<const T*>(blocks.from);
  return each<Words>([&](int v) HWY_ATTR {
    const auto own = hn::LoadU(units, from + v * kWidth);
    if constexpr (sizeof(T) == 4) {
      return own;
    } else {
      return hn::PromoteTo(kWords, own);
    }
  });
}

struct Four {
  // NOLINTNEXTLINE(modernize-use-equals-default): as of Words
  HWY_INLINE Four() {}

  Words words[4];
};

/// Loads four units of 4 bytes from each block.
HWY_INLINE Four load_four(const Blocks& blocks) {
  Four four;
  WEFT_UNROLL
  for (int word = 0; word < 4; ++word) {
    four.words[word] = load_each<std::uint32_t>(blocks.at(std::int64_t{4} * word));
  }
  return four;
}

/// (words >> shift) & mask.
HWY_INLINE Words bits_of(const Words& words, int shift, std::uint32_t mask) {
  return each<Words>([&](int v) HWY_ATTR {
    return hn::And(hn::ShiftRightSame(words.part[v], shift), hn::Set(kWords, mask));
  });
}

HWY_INLINE Numbers load_f16(const Blocks& blocks) {
  const auto* from = reinterpret_cast<const hwy::float16_t*>(blocks.from);
  return each<Numbers>([&](int v) HWY_ATTR {
    return hn::PromoteTo(kFloats, hn::LoadU(kHalves, from + v * kWidth));
  });
}
/// Loads an f32 that is stored as two units of 2 bytes.
HWY_INLINE Numbers load_f32(const Blocks& blocks) {
  return as_floats(load_each<std::uint16_t>(blocks) |
                   left<16>(load_each<std::uint16_t>(blocks.at(2))));
}

/// Returns byte `index` of 16 bytes, in a word of its own.
HWY_INLINE Words byte_of(const Four& four, int index) {
  return bits_of(four.words[index / 4], index % 4 * 8, 255);
}
/// (byte >> shift) & mask for every byte; the mask drops bits that come from another byte.
HWY_INLINE Words bytes_of(const Words& bytes, int shift, std::uint32_t mask) {
  return bits_of(bytes, shift, mask * 0x01010101U);
}
HWY_INLINE Words low_halves(const Words& bytes) { return bytes_of(bytes, 0, 15); }
HWY_INLINE Words high_halves(const Words& bytes) { return bytes_of(bytes, 4, 15); }

/// Returns `bytes` with (high >> shift) & mask put above their first kBits bits.
template <int kBits>
HWY_INLINE Words with_high(const Words& bytes, const Words& high, int shift, std::uint32_t mask) {
  const std::uint32_t moved_mask = (mask << static_cast<unsigned>(kBits)) * 0x01010101U;
  return bytes | each<Words>([&](int v) HWY_ATTR {
           // One shift moves the bits to their place; bits of other bytes are masked.
           const auto own = high.part[v];
           const auto moved = shift < kBits   ? hn::ShiftLeftSame(own, kBits - shift)
                              : shift > kBits ? hn::ShiftRightSame(own, shift - kBits)
                                              : own;
           return hn::And(moved, hn::Set(kWords, moved_mask));
         });
}

/// Spreads four bits, from bit 4 * word on, to bit kTo of the word's four bytes.
template <int kTo>
HWY_INLINE Words spread_bits(const Words& high, int word) {
  const Words four = bits_of(high, 4 * word, 15);
  return each<Words>([&](int v) HWY_ATTR {
    const auto spread = hn::Mul(four.part[v], hn::Set(kWords, 0x00204081U));
    return hn::ShiftLeft<kTo>(hn::And(spread, hn::Set(kWords, 0x01010101U)));
  });
}

/// Calls `use` for the words of a run of 32 codes: the low halves of 16 bytes, then the high ones.
template <class Use>
HWY_INLINE void for_half_bytes(const Blocks& codes, const Use& use) {
  const Four four = load_four(codes);
  WEFT_UNROLL
  for (int word = 0; word < 4; ++word) {
    use(word, low_halves(four.words[word]));
    use(word + 4, high_halves(four.words[word]));
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // WEFT_KERNELS_LINEAR_WORDS_INL_H
