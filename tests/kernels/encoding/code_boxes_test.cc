#include "weft/kernels/encoding/code_boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "weft/kernels/encoding/encoding.h"

namespace weft {
namespace {

constexpr std::int64_t kInputs = 768;  // three boxes, or six

std::vector<DType> boxed_types() {
  std::vector<DType> types;
  for (const Encoding& encoding : encodings()) {
    if (box_of(encoding.dtype).exists()) types.push_back(encoding.dtype);
  }
  return types;
}

std::vector<std::byte> random_bytes(std::int64_t count) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(CodeBoxes, GiveBackTheBlocksOfEveryRow) {
  for (const DType dtype : boxed_types()) {
    SCOPED_TRACE(to_string(dtype));
    const std::int64_t row = bytes_of(dtype, kInputs).value();
    const std::vector<std::byte> blocks = random_bytes(CodeBox::kRows * row);
    std::vector<std::byte> boxes(
        static_cast<std::size_t>(boxed_bytes(dtype, CodeBox::kRows, kInputs)));
    put_in_boxes(dtype, kInputs, blocks, boxes);
    for (std::int32_t i = 0; i < CodeBox::kRows; ++i) {
      std::vector<std::byte> got(static_cast<std::size_t>(row));
      take_from_boxes(dtype, kInputs, i, boxes, got);
      EXPECT_TRUE(std::ranges::equal(
          got, std::span(blocks).subspan(static_cast<std::size_t>(i * row), got.size())))
          << i;
    }
  }
}

TEST(CodeBoxes, AreAsLongAsTheirBlocksOrHardlyLonger) {
  for (const DType dtype : boxed_types()) {
    const std::int64_t in_file = bytes_of(dtype, CodeBox::kRows * kInputs).value();
    const std::int64_t held = boxed_bytes(dtype, CodeBox::kRows, kInputs);
    EXPECT_GE(held, in_file) << to_string(dtype);
    EXPECT_LE(held * 100, in_file * 103) << to_string(dtype);
  }
}

TEST(CodeBoxes, CanBeCopiedInPiecesOf16Bytes) {
  for (const DType dtype : boxed_types()) {
    EXPECT_EQ(box_of(dtype).bytes() % 16, 0) << to_string(dtype);
  }
}

TEST(CodeBoxes, HoldEightRowsCodesInDifferentBanks) {
  // Four rows' 32 bytes are read at once by half a warp, from 128 bytes of banks.
  for (int first = 0; first < 8; first += 4) {
    std::set<std::int32_t> codes;
    std::set<std::int32_t> high;
    for (std::int32_t row = first; row < first + 4; ++row) {
      codes.insert(CodeBox::code_place(row, 0) / 32);
      high.insert((row * 64 + CodeBox::high_place(row, 0)) % 128 / 32);
    }
    EXPECT_EQ(codes.size(), 4U);
    EXPECT_EQ(high.size(), 4U);
  }
}

TEST(CodeBoxes, AreFilledByWholeBoxesOnly) {
  EXPECT_TRUE(fill_boxes(DType::kQ6_K, 128, 512));
  EXPECT_FALSE(fill_boxes(DType::kQ6_K, 100, 512));
  EXPECT_FALSE(fill_boxes(DType::kI4_128, 128, 384));
  EXPECT_TRUE(fill_boxes(DType::kF8_128, 128, 384));
  EXPECT_FALSE(fill_boxes(DType::kF8_256, 128, 384));
  EXPECT_FALSE(fill_boxes(DType::kQ4_K, 128, 512));
}

}  // namespace
}  // namespace weft
