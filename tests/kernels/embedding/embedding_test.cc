#include "weft/kernels/embedding/embedding.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

class EmbeddingTest : public OpTest {};
WEFT_OP_TEST(EmbeddingTest);

constexpr std::int64_t kVocabulary = 11;

template <class T>
void put(std::vector<std::byte>& bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

/// A table as a file has it, and what its numbers are.
struct Stored {
  std::vector<std::byte> bytes{std::byte{0xff}};  // one byte, so that the table is not aligned
  std::vector<double> numbers;

  Stored(DType dtype, std::int64_t width, Random& random) {
    for (std::int64_t i = 0; i < kVocabulary * width; ++i) {
      const float number = random(-4, 4);
      if (dtype == DType::kF32) {
        put(bytes, number);
        numbers.push_back(number);
      } else if (dtype == DType::kF16) {
        put(bytes, to_f16(number));
        numbers.push_back(from_f16(to_f16(number)));
      } else if (dtype == DType::kBF16) {
        put(bytes, to_bf16(number));
        numbers.push_back(from_bf16(to_bf16(number)));
      } else {
        const std::uint16_t scale = to_f16(0.01F * static_cast<float>(1 + i / 32 % 5));
        if (i % 32 == 0) put(bytes, scale);
        const auto quantum = static_cast<std::int8_t>(random.below(256) - 128);
        put(bytes, quantum);
        numbers.push_back(static_cast<double>(from_f16(scale)) * quantum);
      }
    }
  }

  [[nodiscard]] const std::byte* table() const { return bytes.data() + 1; }
};

TEST_P(EmbeddingTest, AddsRowPositionAndConstantForEveryType) {
  Random random(1);
  const std::vector<TokenId> ids{0, 10, 3, 3, 7};
  const std::vector<std::int32_t> position_ids{0, 1, 2, 0, 5};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    for (const std::int64_t width : {32, 64, 96, 416}) {
      const Stored stored(dtype, width, random);
      const auto positions = random.numbers(static_cast<std::size_t>(8 * width));
      const auto constant = random.numbers(static_cast<std::size_t>(width));
      Table out(5, width);
      const EmbeddingParams params{.ids = ids,
                                   .table = stored.table(),
                                   .dtype = dtype,
                                   .vocabulary = kVocabulary,
                                   .spec = {.scale = 1.5F, .position_offset = 2},
                                   .positions = positions.data(),
                                   .position_ids = position_ids,
                                   .position_count = 8,
                                   .constant = constant.data(),
                                   .out = out.rows()};
      in_parts(3, [&](Share share) { embed(params, share); });
      for (std::size_t t = 0; t < ids.size(); ++t) {
        std::vector<double> want;
        for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
          const auto w = static_cast<std::size_t>(width);
          want.push_back(1.5 * stored.numbers[static_cast<std::size_t>(ids[t]) * w + i] +
                         positions[static_cast<std::size_t>(position_ids[t] + 2) * w + i] +
                         constant[i]);
        }
        EXPECT_TRUE(is_close(out.row(static_cast<std::int64_t>(t)), want, 1e-6))
            << to_string(dtype) << ", width " << width << ", token " << t;
      }
      EXPECT_TRUE(out.is_untouched_between_rows());
    }
  }
}

TEST_P(EmbeddingTest, GivesTheTableItselfBitForBitWhenNothingIsAdded) {
  Random random(2);
  const std::vector<TokenId> ids{9, 0};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Stored stored(dtype, 37, random);
    Table out(2, 37);
    embed({.ids = ids,
           .table = stored.table(),
           .dtype = dtype,
           .vocabulary = kVocabulary,
           .out = out.rows()},
          Share{});
    EXPECT_TRUE(
        is_close(out.row(0), std::span(stored.numbers).subspan(std::size_t{9} * 37, 37), 0));
    EXPECT_TRUE(is_close(out.row(1), std::span(stored.numbers).first(37), 0));
  }
}

TEST_P(EmbeddingTest, GivesTheSameBitsFromTheWeightOfTheHead) {
  Random random(4);
  const std::vector<TokenId> ids{0, 10, 3, 7};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    for (const std::int64_t width : {32, 37, 96, 416}) {
      if (!bytes_of(dtype, width)) continue;
      const Stored stored(dtype, width, random);
      auto weight = PackedWeight::allocate(dtype, kVocabulary, width).value();
      weight.fill(0, {stored.table(), dtype, kVocabulary, width, width});
      Table wanted(4, width);
      Table got(4, width);
      EmbeddingParams params{.ids = ids,
                             .table = stored.table(),
                             .dtype = dtype,
                             .vocabulary = kVocabulary,
                             .spec = {.scale = 1.7F},
                             .out = wanted.rows()};
      embed(params, Share{});
      params.table = nullptr;
      params.packed = &weight;
      params.out = got.rows();
      in_parts(3, [&](Share share) { embed(params, share); });
      for (std::int64_t t = 0; t < 4; ++t) {
        EXPECT_TRUE(test::same_bits(got.rows().row(t), wanted.rows().row(t), width))
            << to_string(dtype) << ", width " << width << ", token " << t;
      }
      EXPECT_TRUE(got.is_untouched_between_rows());
    }
  }
}

TEST_P(EmbeddingTest, TakesRowsOfEveryEncoding) {
  const std::vector<TokenId> ids{0, 10, 3, 7};
  for (const Encoding& encoding : encodings()) {
    const std::int64_t width = 2 * block_of(encoding.dtype).elements;
    const RandomMatrix matrix(encoding.dtype, kVocabulary, width, 3);
    auto weight = PackedWeight::allocate(encoding.dtype, kVocabulary, width).value();
    weight.fill(0, matrix.source());
    Table from_table(4, width);
    Table from_weight(4, width);
    EmbeddingParams params{.ids = ids,
                           .table = matrix.data(),
                           .dtype = encoding.dtype,
                           .vocabulary = kVocabulary,
                           .out = from_table.rows()};
    embed(params, Share{});
    params.table = nullptr;
    params.packed = &weight;
    params.out = from_weight.rows();
    in_parts(3, [&](Share share) { embed(params, share); });
    for (std::int64_t t = 0; t < 4; ++t) {
      for (std::int64_t i = 0; i < width; ++i) {
        const double wanted = matrix.at(ids[static_cast<std::size_t>(t)], i);
        ASSERT_EQ(from_table.rows().row(t)[i], wanted) << to_string(encoding.dtype);
        ASSERT_EQ(from_weight.rows().row(t)[i], wanted) << to_string(encoding.dtype);
      }
    }
  }
}

TEST_P(EmbeddingTest, TakesColumnsOfAWiderTable) {
  Random random(5);
  const std::vector<TokenId> ids{9, 0, 4};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    const Stored stored(dtype, 128, random);
    Table out(3, 32);
    const EmbeddingParams params{.ids = ids,
                                 .table = stored.table(),
                                 .dtype = dtype,
                                 .vocabulary = kVocabulary,
                                 .table_width = 128,
                                 .first_column = 64,
                                 .out = out.rows()};
    in_parts(2, [&](Share share) { embed(params, share); });
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto first = static_cast<std::size_t>(ids[t]) * 128 + 64;
      EXPECT_TRUE(is_close(out.row(static_cast<std::int64_t>(t)),
                           std::span(stored.numbers).subspan(first, 32), 1e-6))
          << to_string(dtype) << ", token " << t;
    }
  }
}

TEST_P(EmbeddingTest, NoticesColumnsThatTheTableLacks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Random random(6);
  const Stored stored(DType::kQ8_0, 64, random);
  const std::vector<TokenId> ids{0};
  Table out(1, 32);
  EmbeddingParams params{.ids = ids,
                         .table = stored.table(),
                         .dtype = DType::kQ8_0,
                         .vocabulary = kVocabulary,
                         .table_width = 64,
                         .first_column = 32,
                         .out = out.rows()};
  embed(params, Share{});
  for (const std::int64_t first : {-32, 16, 64}) {
    params.first_column = first;
    WEFT_EXPECT_BUG(embed(params, Share{}), "embed: columns outside the table");
  }
}

TEST_P(EmbeddingTest, NoticesAWeightThatIsNoTableOfThisShape) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto weight = PackedWeight::allocate(DType::kF32, kVocabulary, 4).value();
  const auto gated = PackedWeight::allocate(DType::kF32, kVocabulary, 4, true).value();
  const std::vector<TokenId> ids{0};
  Table out(1, 4);
  const EmbeddingParams good{
      .ids = ids, .packed = &weight, .vocabulary = kVocabulary, .out = out.rows()};
  embed(good, Share{});
  EmbeddingParams params = good;
  params.packed = &gated;
  WEFT_EXPECT_BUG(embed(params, Share{}), "no table of this shape");
  params = good;
  params.vocabulary = kVocabulary - 1;
  WEFT_EXPECT_BUG(embed(params, Share{}), "no table of this shape");
  params = good;
  params.dtype = DType::kBF16;
  WEFT_EXPECT_BUG(embed(params, Share{}), "no table of this shape");
}

TEST_P(EmbeddingTest, NoticesIdsAndPositionsOutsideTheirTables) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Random random(3);
  const Stored stored(DType::kF32, 4, random);
  const std::vector<float> positions(16, 0.0F);
  Table out(1, 4);
  std::vector<TokenId> ids{0};
  std::vector<std::int32_t> position_ids{0};
  EmbeddingParams params{.ids = ids,
                         .table = stored.table(),
                         .vocabulary = kVocabulary,
                         .positions = positions.data(),
                         .position_ids = position_ids,
                         .position_count = 4,
                         .out = out.rows()};
  for (const TokenId id : {TokenId{-1}, TokenId{kVocabulary}}) {
    ids[0] = id;
    WEFT_EXPECT_BUG(embed(params, Share{}), "embed: an id outside the table");
  }
  ids[0] = 0;
  position_ids[0] = 4;
  WEFT_EXPECT_BUG(embed(params, Share{}), "embed: a position outside its table");
  params.dtype = DType::kQ8_0;
  WEFT_EXPECT_BUG(embed(params, Share{}), "embed: the width of the table");
}

}  // namespace
}  // namespace weft
