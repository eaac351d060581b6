#include "weft/model/checkpoint/checkpoint_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {
namespace {

std::optional<std::int64_t> size_of(DType dtype, const std::vector<std::int64_t>& shape) {
  return tensor_bytes(dtype, shape);
}

TEST(CheckpointFileTest, CountsTheBytesOfAShape) {
  EXPECT_EQ(size_of(DType::kF32, {}), 4);
  EXPECT_EQ(size_of(DType::kBF16, {3, 5}), 30);
  EXPECT_EQ(size_of(DType::kF32, {3, 0}), 0);
  EXPECT_EQ(size_of(DType::kQ8_0, {2, 64}), 136);
  EXPECT_EQ(size_of(DType::kQ8_0, {64, 1}), std::nullopt) << "a row is no whole block";
}

TEST(CheckpointFileTest, RefusesShapesThatCannotBeCounted) {
  EXPECT_EQ(size_of(DType::kU8, {-1}), std::nullopt);
  EXPECT_EQ(size_of(DType::kU8, {-1, -1}), std::nullopt);
  EXPECT_EQ(size_of(DType::kU8, {0, -1}), std::nullopt);
  EXPECT_EQ(size_of(DType::kU8, {INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(size_of(DType::kF64, {INT64_MAX}), std::nullopt);
}

TEST(CheckpointFileTest, QuotesTextSoThatAMessageStaysOneShortLine) {
  using namespace std::string_view_literals;
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes("a\n\0\xff\x1b[31m"sv), R"('a\x0a\x00\xff\x1b[31m')");
  EXPECT_EQ(in_quotes(std::string(96, 'a')), "'" + std::string(96, 'a') + "'");
  EXPECT_EQ(in_quotes(std::string(97, 'a')), "'" + std::string(96, 'a') + "...'");
}

}  // namespace
}  // namespace weft
