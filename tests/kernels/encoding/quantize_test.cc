#include "weft/kernels/encoding/quantize/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/encoding/quantize/grid_search.h"
#include "weft/kernels/encoding/quantize/scale_fit.h"
#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

std::vector<DType> quantized_types() {
  std::vector<DType> types;
  for (const Encoding& encoding : encodings()) {
    if (can_quantize(encoding.dtype)) types.push_back(encoding.dtype);
  }
  return types;
}

std::vector<std::byte> quantized(DType dtype, const std::vector<float>& numbers,
                                 const float* importance = nullptr) {
  const auto [elements, bytes] = block_of(dtype);
  const std::int64_t blocks = std::ssize(numbers) / elements;
  std::vector<std::byte> out(static_cast<std::size_t>(blocks * bytes));
  EXPECT_EQ(quantize_blocks({dtype, numbers.data(), blocks, importance}, out.data()), std::nullopt);
  return out;
}

std::vector<float> round_trip(DType dtype, const std::vector<float>& numbers,
                              const float* importance = nullptr) {
  const std::vector<std::byte> bytes = quantized(dtype, numbers, importance);
  std::vector<float> out(numbers.size());
  decode_blocks(
      {.dtype = dtype, .data = bytes.data(), .count = std::ssize(bytes) / block_of(dtype).bytes},
      out.data());
  return out;
}

std::vector<float> normal_numbers(std::size_t count, float deviation, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

double squared_error(const std::vector<float>& a, const std::vector<float>& b,
                     const float* weights = nullptr) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += error * error * (weights == nullptr ? 1.0 : static_cast<double>(weights[i]));
  }
  return sum;
}

/// All of GGUF's, and Inferflow's, which alone are not GGUF's and have a minimum.
TEST(Quantize, HasAQuantizerForEveryEncodingThatIsMade) {
  for (const Encoding& encoding : encodings()) {
    const bool in_gguf = encoding.gguf_type != Encoding::kNotInGguf;
    EXPECT_EQ(can_quantize(encoding.dtype), in_gguf || encoding.has_minimum)
        << to_string(encoding.dtype);
  }
  EXPECT_FALSE(can_quantize(DType::kF16));
  std::byte out{};
  WEFT_EXPECT_BUG(static_cast<void>(quantize_blocks({.dtype = DType::kNF4_64}, &out)),
                  "a type without a quantizer");
}

/// Inferflow's table 2: codes, and numbers with three digits.
TEST(Quantize, RepeatsInferflowsExampleOfTwelveWeights) {
  const std::array<float, 12> weights = {-1,   -0.9F, -0.6F, -0.4F, -0.2F, 0,
                                         0.1F, 0.5F,  0.7F,  1,     1.3F,  1.5F};
  struct Column {
    DType dtype;
    int last_code;
    std::array<int, 12> codes;
    std::array<double, 12> numbers;
    double average_error;
  };
  const std::array columns = {
      Column{
          DType::kQ4_B32,
          15,
          {0, 1, 2, 4, 5, 6, 7, 9, 10, 12, 14, 15},
          {-1.000, -0.833, -0.667, -0.333, -0.167, 0.000, 0.167, 0.500, 0.667, 1.000, 1.333, 1.500},
          0.031},
      Column{
          DType::kQ3_B32,
          7,
          {0, 0, 1, 2, 2, 3, 3, 4, 5, 6, 6, 7},
          {-1.000, -1.000, -0.643, -0.286, -0.286, 0.071, 0.071, 0.429, 0.786, 1.143, 1.143, 1.500},
          0.075},
      Column{
          DType::kQ3H_B64,
          10,
          {0, 0, 2, 2, 3, 4, 4, 6, 7, 8, 9, 10},
          {-1.000, -1.000, -0.500, -0.500, -0.250, 0.000, 0.000, 0.500, 0.750, 1.000, 1.250, 1.500},
          0.046},
  };
  for (const Column& column : columns) {
    std::vector<float> numbers(static_cast<std::size_t>(block_of(column.dtype).elements));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = weights[i % weights.size()];
    const std::vector<float> decoded = round_trip(column.dtype, numbers);
    // The scale is an f16, which the table's is not: half a unit of its 11 digits in every code.
    const double step = 2.5 / column.last_code;
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto number = static_cast<double>(decoded[i]);
      EXPECT_EQ(std::lround((number + 1) / step), column.codes[i])
          << to_string(column.dtype) << ' ' << weights[i];
      const double rounding = step * column.codes[i] * 0x1p-11;
      EXPECT_NEAR(number, column.numbers[i], 0.0005 + rounding)
          << to_string(column.dtype) << ' ' << weights[i];
      sum += std::abs(number - static_cast<double>(weights[i]));
    }
    EXPECT_NEAR(sum / 12, column.average_error, 0.0005 + 0.0003) << to_string(column.dtype);
  }
}

std::uint64_t hash_of(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

template <class T>
T take(std::string_view& bytes) {
  T value;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return value;
}

TEST(Quantize, MakesTheBlocksOfGgufPyWhereItSearchesForNothing) {
  const auto file =
      read_text_file(test::source_path("tests/kernels/encoding/data/quantized.bin"), kAnySize);
  ASSERT_TRUE(file) << to_string(file.error());
  std::string_view bytes = *file;
  std::vector<float> numbers(take<std::uint32_t>(bytes));
  for (float& number : numbers) number = take<float>(bytes);
  int types = 0;
  while (!bytes.empty()) {
    const auto type = take<std::uint32_t>(bytes);
    const auto hash = take<std::uint64_t>(bytes);
    const auto encoding = std::ranges::find(encodings(), type, &Encoding::gguf_type);
    ASSERT_NE(encoding, encodings().end());
    EXPECT_EQ(hash_of(quantized(encoding->dtype, numbers)), hash) << to_string(encoding->dtype);
    ++types;
  }
  EXPECT_EQ(types, 8);
}

/// Returns the greatest error of a group's numbers, in steps of an evenly spaced code between the
/// group's extremes. Codes around zero have one less above it; other scales are rounded too.
double most_steps(DType dtype) {
  switch (dtype) {
    case DType::kQ8_0:
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ2_B32:
    case DType::kQ3_B32:
    case DType::kQ3H_B64:
    case DType::kQ4_B32:
    case DType::kQ4_B64:
    case DType::kQ5_B64:
    case DType::kQ6_B64:
    case DType::kQ8_B32:
      return 0.5;
    default:
      return 1.6;
  }
}

TEST(Quantize, LosesHalfAStepAtMostWhereStepsAreEven) {
  for (const DType dtype : quantized_types()) {
    const Encoding& encoding = encoding_of(dtype);
    const auto numbers = normal_numbers(4096, 0.02F, 11);
    const auto decoded = round_trip(dtype, numbers);
    const auto group = static_cast<std::size_t>(encoding.group);
    // For the other types, numbers in the table are up to an eighth of the range apart, or there
    // are only three codes.
    const bool even = encoding.codes == CodeType::kLinear && encoding.levels > 4;
    if (!even && dtype != DType::kQ2_B32) continue;
    const std::int64_t levels = dtype == DType::kQ3H_B64 ? 11 : encoding.levels;
    for (std::size_t at = 0; at < numbers.size(); at += group) {
      const auto [least, most] = std::ranges::minmax(std::span(numbers).subspan(at, group));
      const float extreme = std::max(std::abs(least), std::abs(most));
      const double width = static_cast<double>(encoding.has_minimum ? most - least : 2 * extreme);
      const double step = width / static_cast<double>(levels - 1);
      for (std::size_t i = at; i < at + group; ++i) {
        const double error =
            std::abs(static_cast<double>(decoded[i]) - static_cast<double>(numbers[i]));
        // Scale and minimum are rounded to 11 digits.
        const double rounding = static_cast<double>(2 * extreme + most - least) * 0x1p-11;
        ASSERT_LE(error, most_steps(dtype) * step + rounding)
            << to_string(dtype) << " number " << i;
      }
    }
  }
}

/// The squared error of the codes under the scale, and minimum, that the group's extremes say, in
/// f32.
double plain_error(const std::vector<float>& numbers, const Encoding& encoding) {
  const auto group = static_cast<std::size_t>(encoding.group);
  const auto levels = static_cast<int>(encoding.levels);
  std::vector<float> plain;
  for (std::size_t at = 0; at < numbers.size(); at += group) {
    const auto part = std::span(numbers).subspan(at, group);
    ScaleAndMinimum line = span_of(part, levels);
    CodeRange range{0, levels - 1};
    if (!encoding.has_minimum) {
      range = {-levels / 2, levels / 2 - 1};
      line = {extreme_of(part) / static_cast<float>(range.least), 0};
    }
    for (const float number : part) {
      const int code = code_near((number - line.minimum) / line.scale, range);
      plain.push_back(line.scale * static_cast<float>(code) + line.minimum);
    }
  }
  return squared_error(numbers, plain);
}

TEST(Quantize, SearchesForScalesThatLoseLessThanTheExtremesSay) {
  const auto numbers = normal_numbers(std::size_t{256} * 64, 0.03F, 5);
  for (const DType dtype : {DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K,
                            DType::kIQ4_NL, DType::kIQ4_XS}) {
    EXPECT_LE(squared_error(numbers, round_trip(dtype, numbers)),
              plain_error(numbers, encoding_of(dtype)))
        << to_string(dtype);
  }
}

/// A quantizer of normal numbers with b bits each loses 2^-b of their deviation at least.
TEST(Quantize, LosesLittleMoreThanItsBitsSayWhereWeightsAreGridPoints) {
  const auto numbers = normal_numbers(std::size_t{256} * 16, 0.03F, 8);
  const double all = squared_error(numbers, std::vector<float>(numbers.size()));
  int grids = 0;
  for (const Encoding& encoding : encodings()) {
    if (encoding.codes != CodeType::kGrid) continue;
    ++grids;
    const auto [elements, bytes] = block_of(encoding.dtype);
    const double bits = 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
    const double lost = squared_error(numbers, round_trip(encoding.dtype, numbers));
    EXPECT_LT(std::sqrt(lost / all), 1.5 * std::exp2(-bits)) << to_string(encoding.dtype);
  }
  EXPECT_EQ(grids, 7);
}

TEST(Quantize, TriesEveryPointOfAGrid) {
  GridColumns grid{.points = 192, .numbers = 4, .values = normal_numbers(768, 1, 9)};
  // Among equal points the first one is taken.
  for (std::size_t j = 0; j < grid.numbers; ++j) {
    grid.values[j * grid.points + 150] = grid.values[j * grid.points + 37];
  }
  std::vector<float> products(grid.points);
  std::vector<float> squares(grid.points);
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    auto numbers = normal_numbers(grid.numbers, 1, 100 + seed);
    auto weights = normal_numbers(grid.numbers, 1, 200 + seed);
    for (float& weight : weights) weight = std::abs(weight);
    const float scale = 0.25F * static_cast<float>(1 + seed % 5);
    if (seed == 0) {
      for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j] = scale * grid.column(j)[37];
    }
    sum_points(grid, numbers.data(), weights.data(), {products.data(), squares.data()});
    const auto distance = [&](std::size_t point) {
      double sum = 0;
      for (std::size_t j = 0; j < numbers.size(); ++j) {
        const double error = double{numbers[j]} - double{scale} * double{grid.column(j)[point]};
        sum += double{weights[j]} * error * error;
      }
      return sum;
    };
    const std::size_t found = nearest_point(grid, {products.data(), squares.data()}, scale);
    if (seed == 0) {
      EXPECT_EQ(found, 37U);
    }
    double least = distance(0);
    for (std::size_t point = 1; point < grid.points; ++point) {
      least = std::min(least, distance(point));
    }
    EXPECT_NEAR(distance(found), least, 1e-4) << seed;
  }
}

TEST(Quantize, LosesLessWhereTheErrorCountsMore) {
  const auto numbers = normal_numbers(2048, 0.03F, 6);
  std::mt19937 random(7);
  std::vector<float> importance(numbers.size());
  for (float& weight : importance) weight = random() % 8 == 0 ? 100.0F : 0.1F;
  for (const DType dtype : quantized_types()) {
    // These have no scale to search for.
    if (dtype == DType::kMXFP4 || dtype == DType::kQ8_0) continue;
    EXPECT_LT(
        squared_error(numbers, round_trip(dtype, numbers, importance.data()), importance.data()),
        squared_error(numbers, round_trip(dtype, numbers), importance.data()))
        << to_string(dtype);
  }
  const std::vector<float> nothing(numbers.size());
  EXPECT_EQ(quantized(DType::kQ4_K, numbers, nothing.data()), quantized(DType::kQ4_K, numbers));
}

TEST(Quantize, KeepsZerosAndConstants) {
  for (const DType dtype : quantized_types()) {
    const std::vector<float> zeros(256);
    const auto kept = round_trip(dtype, zeros);
    EXPECT_TRUE(std::ranges::all_of(kept, [](float x) { return x == 0; })) << to_string(dtype);
    for (const float constant : {0.25F, -0.25F}) {
      const std::vector<float> same(256, constant);
      for (const float number : round_trip(dtype, same)) {
        EXPECT_NEAR(number, constant, 0.01) << to_string(dtype);
      }
    }
  }
}

TEST(Quantize, NamesTheBlockWithANumberThatIsNoneOrTooLarge) {
  for (const DType dtype : quantized_types()) {
    const std::int64_t elements = block_of(dtype).elements;
    std::vector<std::byte> out(static_cast<std::size_t>(4 * block_of(dtype).bytes));
    std::vector<float> bads = {std::numeric_limits<float>::quiet_NaN(),
                               -std::numeric_limits<float>::infinity()};
    // A number that no f16 times the largest code reaches.
    if (dtype != DType::kMXFP4) bads.push_back(1e30F);
    for (const float bad : bads) {
      auto numbers = normal_numbers(static_cast<std::size_t>(4 * elements), 1, 1);
      numbers[static_cast<std::size_t>(3 * elements - 1)] = bad;
      EXPECT_EQ(quantize_blocks({dtype, numbers.data(), 4}, out.data()), 2)
          << to_string(dtype) << ' ' << bad;
    }
  }
}

}  // namespace
}  // namespace weft
