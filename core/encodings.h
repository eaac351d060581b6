#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/dtype.h"

/// The one table of encodings of weights. Names, lengths, readers, decoders, packed weights and the
/// kernels' choices come from its rows; kernels/encoding/README.md says how to add one.
namespace weft {

/// How the scale of a block is stored. The scale multiplies all weights of the block; where a block
/// has several groups, it multiplies their scales.
enum class ScaleType : std::uint8_t {
  kF16,
  kF32,
  kF16InNibbles,  ///< an f16 in the highest four bits of four 16-bit words
  kE8M0,  ///< a power of two as its exponent, 255 is NaN (OCP Microscaling 1.0, section 5.4)
};

/// The kind of number that a weight's code stands for. The group's scale multiplies it.
enum class CodeType : std::uint8_t {
  kLinear,  ///< an integer
  kFloat,   ///< a floating-point number of 8 bits
  kTable,   ///< an index into a table of 16 numbers
  kGrid,    ///< an index of a grid's point, which gives 4 or 8 weights
};

/// How a GPU holds a matrix whose codes its tensor cores multiply.
enum class TensorCodes : std::uint8_t {
  kNone,    ///< no kernel multiplies the encoding's codes
  kBlocks,  ///< blocks as the file has them, whose bytes are a multiple of 16
  kBoxes,   ///< boxes (kernels/encoding/code_boxes.h), made of the blocks' pieces
};

/// Offset and length, in bytes, of the parts of a block that a box holds apart.
struct BlockPieces {
  std::int32_t codes_at = 0, codes = 0;
  std::int32_t high_at = 0, high = 0;  ///< the upper bits of codes that are longer than four
  std::int32_t scales_at = 0, scales = 0;
  std::int32_t rest_at = 0, rest = 0;  ///< the zeros, or the scale of the block's scales
};

/// Where the 32-bit words of codes stand in a block. Encodings whose codes the host multiplies have
/// such words (kernels/linear/turned_blocks.h).
struct BlockWords {
  bool exist = false;
  std::int64_t head = 0;  ///< bytes before the words
  std::int64_t tail = 0;  ///< bytes after them
};

/// One encoding of weights: its name, its length and what is in a block. The arrays of
/// decoders are made of these rows, so a row without a decoder does not compile.
struct Encoding {
  static constexpr std::uint32_t kNotInGguf = 0xffffffff;

  DType dtype = DType::kQ8_0;
  std::string_view name{};               ///< to_string()
  DTypeBlock block{};                    ///< block_of()
  std::uint32_t gguf_type = kNotInGguf;  ///< its number in GGUF files
  CodeType codes = CodeType::kLinear;
  std::int64_t group = 0;    ///< weights under one scale and minimum, side by side
  std::int64_t levels = 0;   ///< different values that the weights of one group can have
  bool has_minimum = false;  ///< every group has a number that is added to its weights
  ScaleType scale_type = ScaleType::kF16;
  std::int64_t scale_at = 0;    ///< where the block's scale stands, in bytes
  std::int64_t minimum_at = 0;  ///< where the f16 stands that scales the minimums
  std::int64_t scales = 1;      ///< scales side by side, one for each equal part of the block
  /// Every group has a zero, which is subtracted from its codes; IntegerCodes says where it stands.
  bool has_zero = false;
  BlockWords words{};
  TensorCodes tensor_codes = TensorCodes::kNone;
  BlockPieces pieces{};  ///< set only where tensor_codes is kBoxes

  // Rows of the table call these to say how kernels hold the encoding.
  [[nodiscard]] constexpr Encoding in_words(std::int64_t head, std::int64_t tail = 0) const {
    Encoding row = *this;
    row.words = {true, head, tail};
    return row;
  }
  [[nodiscard]] constexpr Encoding in_blocks() const {
    Encoding row = *this;
    row.tensor_codes = TensorCodes::kBlocks;
    return row;
  }
  [[nodiscard]] constexpr Encoding in_boxes(const BlockPieces& of) const {
    Encoding row = *this;
    row.tensor_codes = TensorCodes::kBoxes;
    row.pieces = of;
    return row;
  }
};

namespace encoding_rows {

/// Integers of `bits` bits with a scale and a zero for each group. Two groups share a block where
/// their zeros have room in one byte. The block has the scales, the zeros' byte, then the codes.
constexpr Encoding integers(DType dtype, std::string_view name, std::int64_t bits,
                            std::int64_t group, std::int64_t groups = 1) {
  const std::int64_t scale_bytes = bits == 8 ? 4 : 2;
  const std::int64_t head = groups * scale_bytes + 1;
  Encoding row;
  row.dtype = dtype;
  row.name = name;
  row.block = {groups * group, head + groups * group * bits / 8};
  row.group = group;
  row.levels = std::int64_t{1} << static_cast<unsigned>(bits);
  row.scale_type = bits == 8 ? ScaleType::kF32 : ScaleType::kF16;
  row.scales = groups;
  row.has_zero = true;
  return row.in_words(head);
}

/// Returns the row of `integers` with the pieces of its boxes.
constexpr Encoding in_boxes(const Encoding& integers) {
  const auto head = static_cast<std::int32_t>(integers.words.head);
  const std::int32_t codes = static_cast<std::int32_t>(integers.block.bytes) - head;
  return integers.in_boxes({head, codes, 0, 0, 0, head - 1, head - 1, 1});
}

/// One group under a scale in f32. Codes of kFloat have 8 bits, codes of kTable have 4.
constexpr Encoding floats(DType dtype, std::string_view name, CodeType codes, std::int64_t group,
                          std::int64_t levels) {
  const std::int64_t bytes = codes == CodeType::kFloat ? group : group / 2;
  Encoding row;
  row.dtype = dtype;
  row.name = name;
  row.block = {group, 4 + bytes};
  row.codes = codes;
  row.group = group;
  row.levels = levels;
  row.scale_type = ScaleType::kF32;
  return row;
}

/// FP8 in boxes.
constexpr Encoding floats_in_boxes(DType dtype, std::string_view name, std::int64_t group) {
  return floats(dtype, name, CodeType::kFloat, group, 256)
      .in_boxes({4, static_cast<std::int32_t>(group), 0, 0, 0, 4, 0, 0});
}

}  // namespace encoding_rows

/// All encodings, in the order of DType.
inline constexpr auto kEncodings = [] {
  using Row = Encoding;
  using encoding_rows::floats;
  using encoding_rows::floats_in_boxes;
  using encoding_rows::in_boxes;
  using encoding_rows::integers;
  constexpr auto kLinear = CodeType::kLinear;
  constexpr auto kFloat = CodeType::kFloat;
  constexpr auto kTable = CodeType::kTable;
  constexpr auto kGrid = CodeType::kGrid;
  constexpr auto kF16 = ScaleType::kF16;
  constexpr auto kNibbles = ScaleType::kF16InNibbles;
  constexpr auto kE8M0 = ScaleType::kE8M0;
  constexpr auto kNone = Encoding::kNotInGguf;
  return std::array{
      Row{DType::kQ8_0, "q8_0", {32, 34}, 8, kLinear, 32, 256, false, kF16, 0}.in_boxes(
          {2, 32, 0, 0, 0, 2, 0, 0}),
      Row{DType::kQ4_0, "q4_0", {32, 18}, 2, kLinear, 32, 16, false, kF16, 0}.in_words(2),
      Row{DType::kQ4_1, "q4_1", {32, 20}, 3, kLinear, 32, 16, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ5_0, "q5_0", {32, 22}, 6, kLinear, 32, 32, false, kF16, 0}.in_words(2),
      Row{DType::kQ5_1, "q5_1", {32, 24}, 7, kLinear, 32, 32, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ2_K, "q2_k", {256, 84}, 10, kLinear, 16, 4, true, kF16, 80, 82}.in_words(0, 4),
      Row{DType::kQ3_K, "q3_k", {256, 110}, 11, kLinear, 16, 8, false, kF16, 108}.in_words(0, 2),
      Row{DType::kQ4_K, "q4_k", {256, 144}, 12, kLinear, 32, 16, true, kF16, 0, 2}
          .in_words(4)
          .in_blocks(),
      Row{DType::kQ5_K, "q5_k", {256, 176}, 13, kLinear, 32, 32, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ6_K, "q6_k", {256, 210}, 14, kLinear, 16, 64, false, kF16, 208}
          .in_words(0, 2)
          .in_boxes({0, 128, 128, 64, 192, 16, 208, 2}),
      Row{DType::kIQ1_S, "iq1_s", {256, 50}, 19, kGrid, 32, 3, true, kF16, 0, 0},
      Row{DType::kIQ1_M, "iq1_m", {256, 56}, 29, kGrid, 8, 3, true, kNibbles, 48, 48},
      Row{DType::kIQ2_XXS, "iq2_xxs", {256, 66}, 16, kGrid, 32, 6, false, kF16, 0},
      Row{DType::kIQ2_XS, "iq2_xs", {256, 74}, 17, kGrid, 16, 6, false, kF16, 0},
      Row{DType::kIQ2_S, "iq2_s", {256, 82}, 22, kGrid, 16, 6, false, kF16, 0},
      Row{DType::kIQ3_XXS, "iq3_xxs", {256, 98}, 18, kGrid, 32, 16, false, kF16, 0},
      Row{DType::kIQ3_S, "iq3_s", {256, 110}, 21, kGrid, 32, 16, false, kF16, 0},
      Row{DType::kIQ4_NL, "iq4_nl", {32, 18}, 20, kTable, 32, 16, false, kF16, 0}.in_words(2),
      Row{DType::kIQ4_XS, "iq4_xs", {256, 136}, 23, kTable, 32, 16, false, kF16, 0}.in_words(4),
      Row{DType::kTQ1_0, "tq1_0", {256, 54}, 34, kLinear, 256, 3, false, kF16, 52},
      Row{DType::kTQ2_0, "tq2_0", {256, 66}, 35, kLinear, 256, 4, false, kF16, 64},
      Row{DType::kMXFP4, "mxfp4", {32, 17}, 39, kTable, 32, 16, false, kE8M0, 0}.in_words(1),
      Row{DType::kQ2_B32, "q2_b32", {32, 12}, kNone, kLinear, 32, 4, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ3_B32, "q3_b32", {32, 16}, kNone, kLinear, 32, 8, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ3H_B64, "q3h_b64", {64, 32}, kNone, kLinear, 64, 12, true, kF16, 0, 2},
      Row{DType::kQ4_B32, "q4_b32", {32, 20}, kNone, kLinear, 32, 16, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ4_B64, "q4_b64", {64, 36}, kNone, kLinear, 64, 16, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ5_B64, "q5_b64", {64, 44}, kNone, kLinear, 64, 32, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ6_B64, "q6_b64", {64, 52}, kNone, kLinear, 64, 64, true, kF16, 0, 2}.in_words(4),
      Row{DType::kQ8_B32, "q8_b32", {32, 36}, kNone, kLinear, 32, 256, true, kF16, 0, 2}.in_words(
          4),
      integers(DType::kI2_32, "i2_32", 2, 32, 2),
      integers(DType::kI2_64, "i2_64", 2, 64, 2),
      integers(DType::kI2_128, "i2_128", 2, 128),
      integers(DType::kI2_256, "i2_256", 2, 256),
      integers(DType::kI3_32, "i3_32", 3, 32, 2),
      integers(DType::kI3_64, "i3_64", 3, 64),
      integers(DType::kI3_128, "i3_128", 3, 128),
      integers(DType::kI3_256, "i3_256", 3, 256),
      integers(DType::kI4_32, "i4_32", 4, 32),
      in_boxes(integers(DType::kI4_64, "i4_64", 4, 64)),
      in_boxes(integers(DType::kI4_128, "i4_128", 4, 128)),
      in_boxes(integers(DType::kI4_256, "i4_256", 4, 256)),
      integers(DType::kI8_32, "i8_32", 8, 32),
      integers(DType::kI8_64, "i8_64", 8, 64),
      integers(DType::kI8_128, "i8_128", 8, 128),
      integers(DType::kI8_256, "i8_256", 8, 256),
      floats(DType::kF8_32, "f8_32", kFloat, 32, 256),
      floats(DType::kF8_64, "f8_64", kFloat, 64, 256),
      floats_in_boxes(DType::kF8_128, "f8_128", 128),
      floats_in_boxes(DType::kF8_256, "f8_256", 256),
      floats(DType::kNF4_64, "nf4_64", kTable, 64, 16),
      floats(DType::kFP4_64, "fp4_64", kTable, 64, 15),
  };
}();

inline constexpr std::size_t kFirstEncoding = static_cast<std::size_t>(DType::kQ8_0);

static_assert(
    [] {
      for (std::size_t i = 0; i < kEncodings.size(); ++i) {
        if (static_cast<std::size_t>(kEncodings[i].dtype) != kFirstEncoding + i) return false;
      }
      return true;
    }(),
    "a row stands at another place than its DType");

/// is_encoded() at compile time.
[[nodiscard]] constexpr bool is_encoding(DType dtype) noexcept {
  return static_cast<std::size_t>(dtype) - kFirstEncoding < kEncodings.size();
}

/// Returns the row of a type that is an encoding.
[[nodiscard]] constexpr const Encoding& encoding_row(DType dtype) noexcept {
  return kEncodings[static_cast<std::size_t>(dtype) - kFirstEncoding];
}

}  // namespace weft
