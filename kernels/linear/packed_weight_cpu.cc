#include "weft/kernels/linear/packed_weight_cpu.h"

#include <bit>
#include <cstring>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/turned_blocks.h"
#include "weft/kernels/simd/narrow_float.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/linear/packed_weight_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;
constexpr std::int64_t kBlock = PackedLayout::kBlock;
constexpr std::int64_t kMaxInputs = PackPiece::kMaxInputs;

template <class T>
HWY_ATTR T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// Rounds to f32 "to odd", so that rounding again to 16 bits gives the same as a single rounding
/// (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008, section 3).
HWY_ATTR float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  if (!(back != value) || (bits & 1U) != 0 || value != value) return nearest;
  const bool too_small = (back < value) == (value > 0);
  return std::bit_cast<float>(too_small ? bits + 1 : bits - 1);
}

/// Writes a row's numbers as f32. `exact` is false if the caller rounds them again.
HWY_ATTR void widen_row(const std::byte* from, DType type, std::int64_t count, bool exact,
                        float* HWY_RESTRICT to) {
  switch (type) {
    case DType::kF32:
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
      break;
    case DType::kBF16:
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = from_bf16(load_as<std::uint16_t>(from + 2 * i));
      }
      break;
    case DType::kF16:
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = from_f16(load_as<std::uint16_t>(from + 2 * i));
      }
      break;
    default:
      if (is_encoded(type)) {
        decode_blocks({.dtype = type, .data = from, .count = count / block_of(type).elements}, to);
        break;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const auto value = load_as<double>(from + 8 * i);
        to[i] = exact ? static_cast<float>(value) : narrow_to_odd(value);
      }
  }
}

/// Writes a row's numbers contiguously in the layout's type; for q8_0 the int8 alone.
HWY_ATTR void convert_row(const PackPiece& piece, const std::byte* from, std::byte* to) {
  const DType type = piece.layout.dtype;
  if (type == DType::kQ8_0) {
    for (std::int64_t block = 0; block < piece.count / kBlock; ++block) {
      std::memcpy(to + block * kBlock, from + block * (kBlock + 2) + 2, kBlock);
    }
    return;
  }
  if (piece.from == type) {
    std::memcpy(to, from, static_cast<std::size_t>(piece.count * piece.layout.element_bytes()));
    return;
  }
  alignas(64) std::array<float, kMaxInputs> wide;
  alignas(64) std::array<std::uint16_t, kMaxInputs> narrow;
  widen_row(from, piece.from, piece.count, type == DType::kF32, wide.data());
  const auto count = static_cast<std::size_t>(piece.count);
  if (type == DType::kF32) {
    std::memcpy(to, wide.data(), count * sizeof(float));
    return;
  }
  if (type == DType::kBF16) {
    for (std::size_t i = 0; i < count; ++i) narrow[i] = to_bf16(wide[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) narrow[i] = to_f16(wide[i]);
  }
  std::memcpy(to, narrow.data(), count * sizeof(std::uint16_t));
}

/// Splits rows of 16 words, each two f16 of one output, into twice as many rows of 16 f16.
HWY_ATTR void split_words(const std::uint32_t* HWY_RESTRICT from, std::int64_t words,
                          std::uint16_t* HWY_RESTRICT to) {
  for (std::int64_t word = 0; word < words; ++word) {
    const std::uint32_t* row = from + word * kLanes;
    std::uint16_t* even = to + word * 2 * kLanes;
    std::uint16_t* odd = even + kLanes;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      even[lane] = static_cast<std::uint16_t>(row[lane]);
      odd[lane] = static_cast<std::uint16_t>(row[lane] >> 16U);
    }
  }
}

/// A template, so that the compiler knows the size: one load and one store a number.
template <class T>
HWY_ATTR void store_numbers(const PackPiece& piece, std::int64_t begin, const std::byte* tile,
                            std::int64_t row_bytes) {
  for (std::int64_t lane = 0; lane < piece.lanes; ++lane) {
    for (std::int64_t i = begin; i < piece.count; ++i) {
      std::memcpy(piece.panel + piece.layout.offset(piece.lane + lane, piece.input + i),
                  tile + lane * row_bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    }
  }
}

/// Writes the file's blocks in the panel's order.
HWY_ATTR void store_blocks(const PackPiece& piece) {
  const TurnedBlocks turned(piece.layout.dtype);
  const std::int64_t elements = block_of(piece.layout.dtype).elements;
  const bool are_all = piece.lanes == kLanes && !turned.are_whole();
  std::byte* row = piece.panel + piece.layout.block_row_offset(piece.input);
  for (std::int64_t i = 0; i < piece.count; i += elements, row += turned.row_bytes()) {
    const std::int64_t from = i / elements * turned.block_bytes();
    for (std::int64_t lane = 0; lane < piece.lanes; ++lane) {
      const std::byte* block = piece.rows[static_cast<std::size_t>(lane)] + from;
      if (are_all) {
        turned.put_rest(block, lane, row);
      } else {
        turned.put(block, piece.lane + lane, row);
      }
    }
    if (!are_all) continue;
    const auto words_of = [&](std::int64_t lane) HWY_ATTR {
      return piece.rows[static_cast<std::size_t>(lane)] + from + turned.words_at();
    };
    transpose_sixteen(words_of, turned.words(),
                      reinterpret_cast<std::uint32_t*>(row + kLanes * turned.words_at()));
  }
}

HWY_ATTR void store_scales(const PackPiece& piece) {
  for (std::int64_t lane = 0; lane < piece.lanes; ++lane) {
    for (std::int64_t i = 0; i < piece.count; i += kBlock) {
      std::memcpy(piece.panel + piece.layout.scale_offset(piece.lane + lane, piece.input + i),
                  piece.rows[static_cast<std::size_t>(lane)] + i / kBlock * (kBlock + 2), 2);
    }
  }
}

/// Whether rows can be transposed directly from the file, in whole words.
HWY_ATTR bool stands_ready(const PackPiece& piece) {
  const DType type = piece.layout.dtype;
  const std::int64_t in_word = type == DType::kBF16 ? 2 : 1;
  return piece.from == type && (type == DType::kBF16 || type == DType::kF32) &&
         piece.lanes == kLanes && piece.input % in_word == 0 && piece.count % in_word == 0;
}

HWY_ATTR void pack_piece_on_target(const PackPiece& piece) {
  if (piece.layout.keeps_blocks()) {
    store_blocks(piece);
    return;
  }
  const std::int64_t element = piece.layout.element_bytes();
  if (stands_ready(piece)) {
    const auto row_of = [&](std::int64_t lane)
                            HWY_ATTR { return piece.rows[static_cast<std::size_t>(lane)]; };
    auto* to = reinterpret_cast<std::uint32_t*>(piece.panel + piece.input * kLanes * element);
    transpose_sixteen(row_of, piece.count * element / 4, to);
    return;
  }
  constexpr std::int64_t kRowWords = kMaxInputs;
  alignas(64) std::array<std::uint32_t, kLanes * kRowWords> tile;
  auto* bytes = reinterpret_cast<std::byte*>(tile.data());
  constexpr std::int64_t kRowBytes = kRowWords * 4;
  for (std::int64_t lane = 0; lane < piece.lanes; ++lane) {
    convert_row(piece, piece.rows[static_cast<std::size_t>(lane)], bytes + lane * kRowBytes);
  }
  const std::int64_t in_word = 4 / element;
  std::int64_t done = 0;
  if (piece.lanes == kLanes && piece.input % in_word == 0) {
    const std::int64_t words = piece.count / in_word;
    auto* to = reinterpret_cast<std::uint32_t*>(piece.panel + piece.input * kLanes * element);
    if (piece.layout.dtype == DType::kF16) {
      alignas(64) std::array<std::uint32_t, kLanes * kMaxInputs / 2> turned;
      transpose_sixteen(tile.data(), kRowWords, words, turned.data());
      split_words(turned.data(), words, reinterpret_cast<std::uint16_t*>(to));
    } else {
      transpose_sixteen(tile.data(), kRowWords, words, to);
    }
    done = words * in_word;
  }
  if (done < piece.count) {
    if (element == 4) store_numbers<std::uint32_t>(piece, done, bytes, kRowBytes);
    if (element == 2) store_numbers<std::uint16_t>(piece, done, bytes, kRowBytes);
    if (element == 1) store_numbers<std::uint8_t>(piece, done, bytes, kRowBytes);
  }
  if (piece.layout.dtype == DType::kQ8_0) store_scales(piece);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weft {

HWY_EXPORT(pack_piece_on_target);

void pack_piece(const PackPiece& piece) { HWY_DYNAMIC_DISPATCH(pack_piece_on_target)(piece); }

}  // namespace weft

#endif
