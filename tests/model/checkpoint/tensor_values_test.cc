#include "weft/model/checkpoint/tensor_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::ByteWriter;
using testing::ElementsAre;

std::vector<float> read_values(DType dtype, const std::vector<std::byte>& bytes,
                               std::int64_t offset, std::int64_t stride, std::size_t count) {
  // One byte in, so that no number is aligned.
  std::vector<std::byte> shifted(1);
  shifted.insert(shifted.end(), bytes.begin(), bytes.end());
  const auto numbers = static_cast<std::int64_t>(bytes.size());
  const CheckpointTensor tensor{"t", dtype,       {numbers}, test::source_of(shifted, "file"),
                                1,   bytes.size()};
  std::vector<float> out(count);
  read_values(tensor, offset, stride, out).value();
  return out;
}

TEST(TensorValuesTest, AreReadFromEveryPlainType) {
  EXPECT_THAT(read_values(DType::kF64, ByteWriter().put(1.5).put(-2.25).bytes(), 0, 1, 2),
              ElementsAre(1.5F, -2.25F));
  EXPECT_THAT(read_values(DType::kF32, ByteWriter().put(1.5F).put(-2.25F).bytes(), 0, 1, 2),
              ElementsAre(1.5F, -2.25F));
  const auto half = ByteWriter().put<std::uint16_t>(0x3e00).put<std::uint16_t>(0xc080).bytes();
  EXPECT_THAT(read_values(DType::kF16, half, 0, 1, 2), ElementsAre(1.5F, -2.25F));
  const auto brain = ByteWriter().put<std::uint16_t>(0x3fc0).put<std::uint16_t>(0xc010).bytes();
  EXPECT_THAT(read_values(DType::kBF16, brain, 0, 1, 2), ElementsAre(1.5F, -2.25F));
}

TEST(TensorValuesTest, AreReadFromQuantizedBlocks) {
  ByteWriter blocks;
  for (const int first : {0, 32}) {
    blocks.put<std::uint16_t>(first == 0 ? 0x3c00 : 0x3800);  // scales 1 and 0.5
    for (int i = 0; i < 32; ++i) blocks.put(static_cast<std::int8_t>(first + i - 20));
  }
  EXPECT_THAT(read_values(DType::kQ8_0, blocks.bytes(), 30, 1, 4), ElementsAre(10, 11, 6, 6.5F));
}

TEST(TensorValuesTest, AreReadFromBlocksOfEveryEncoding) {
  std::mt19937 random(1);
  for (const Encoding& encoding : encodings()) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 3; ++i) {
      const auto block = test::random_block(encoding, random);
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    const auto elements = static_cast<std::size_t>(block_of(encoding.dtype).elements);
    std::vector<float> all(3 * elements);
    decode_blocks({.dtype = encoding.dtype, .data = bytes.data(), .count = 3}, all.data());
    EXPECT_EQ(read_values(encoding.dtype, bytes, 0, 1, all.size()), all);
    const auto some = read_values(encoding.dtype, bytes, 5, 7, 2 * elements / 7);
    for (std::size_t i = 0; i < some.size(); ++i) {
      EXPECT_EQ(some[i], all[5 + 7 * i]) << to_string(encoding.dtype);
    }
  }
}

TEST(TensorValuesTest, OfABlockWhoseScaleIsNoNumberAreAnError) {
  ByteWriter blocks;
  for (const unsigned scale : {0x3c00U, 0x7c00U, 0x3c00U}) {
    blocks.put(static_cast<std::uint16_t>(scale)).zeros(32);
  }
  const auto bytes = blocks.bytes();
  const CheckpointTensor tensor{
      "blk.0.ffn", DType::kQ8_0, {3, 32}, test::source_of(bytes, "m.gguf"), 0, bytes.size()};
  std::vector<float> out(32);
  EXPECT_TRUE(weft::read_values(tensor, 0, 1, out));
  EXPECT_TRUE(weft::read_values(tensor, 64, 1, out));
  EXPECT_THAT(weft::read_values(tensor, 32, 1, out),
              test::is_bad("m.gguf: tensor 'blk.0.ffn': the scale of block 1 (q8_0) is not a "
                           "finite number"));
}

TEST(TensorValuesTest, AreReadWithAStride) {
  ByteWriter numbers;
  for (int i = 0; i < 12; ++i) numbers.put(static_cast<float>(i));
  EXPECT_THAT(read_values(DType::kF32, numbers.bytes(), 1, 4, 3), ElementsAre(1, 5, 9));
  EXPECT_THAT(read_values(DType::kF32, numbers.bytes(), 11, 5, 1), ElementsAre(11));
  EXPECT_THAT(read_values(DType::kF32, numbers.bytes(), 99, 1, 0), ElementsAre());
}

TEST(TensorValuesTest, AreReadInPiecesOfAMebibyte) {
  constexpr std::size_t kNumbers = 700'000;
  ByteWriter numbers;
  for (std::size_t i = 0; i < kNumbers; ++i) numbers.put(static_cast<float>(i));
  const auto bytes = numbers.bytes();
  const auto all = read_values(DType::kF32, bytes, 0, 1, kNumbers);
  const auto third = read_values(DType::kF32, bytes, 1, 3, kNumbers / 3);
  for (std::size_t i = 0; i < kNumbers; ++i) ASSERT_EQ(all[i], static_cast<float>(i));
  for (std::size_t i = 0; i < third.size(); ++i) ASSERT_EQ(third[i], static_cast<float>(3 * i + 1));
  EXPECT_THAT(read_values(DType::kF32, bytes, 5, 600'000, 2), ElementsAre(5, 600'005));
}

TEST(TensorValuesTest, OfAFileThatWasCutAreAnError) {
  const auto whole = test::source_of(ByteWriter().put(1.0F).put(2.0F).bytes(), "file");
  const CheckpointTensor tensor{
      "t", DType::kF32, {2}, std::make_shared<test::CutSource>(whole, 7), 0, 8};
  std::vector<float> out(2);
  EXPECT_THAT(weft::read_values(tensor, 0, 1, out), test::FailsWith(FileErrc::kCut, "file"));
  EXPECT_TRUE(weft::read_values(tensor, 0, 1, std::span(out).first(1)));
}

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR

TEST(TensorValuesDeathTest, OutsideTheTensorAreABug) {
  const auto two = ByteWriter().put(1.0F).put(2.0F).bytes();
  EXPECT_DEATH(read_values(DType::kF32, two, 1, 1, 2), "outside the tensor");
  EXPECT_DEATH(read_values(DType::kF32, two, -1, 1, 1), "outside the tensor");
}

#else

TEST(TensorValuesTest, OutsideTheTensorAreABug) {
  const auto two = ByteWriter().put(1.0F).put(2.0F).bytes();
  EXPECT_THROW(read_values(DType::kF32, two, 1, 1, 2), InternalError);
  EXPECT_THROW(read_values(DType::kF32, two, -1, 1, 1), InternalError);
}

#endif

}  // namespace
}  // namespace weft
