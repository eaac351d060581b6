#include "weft/kernels/rotary/rotary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/tests/kernels/attention/paged_cache.h"
#include "weft/tests/kernels/op_fixture.h"
#include "weft/tests/kernels/rotary/rotary_reference.h"

namespace weft {
namespace {

class RotaryTest : public OpTest {};
WEFT_OP_TEST(RotaryTest);

constexpr std::int64_t kPositions = 50;

/// A step of two sequences whose tokens stand at rows 0 .. 2 and 3 .. 7.
struct Step {
  RotaryParams params;
  PagedCache cache;
  std::vector<std::vector<std::int32_t>> pages;
  std::vector<SequenceSpan> spans;
  std::vector<std::int32_t> position_ids{4, 5, 6, 49, 0, 1, 2, 3};
  std::vector<float> cosines;
  std::vector<float> sines;
  Table qkv;

  Step(std::int32_t heads, std::int32_t kv_heads, std::int32_t head_size, std::int32_t rotary_size,
       DType dtype, Random& random)
      : cache({.dtype = dtype,
               .pages = 9,
               .page_tokens = 3,
               .kv_heads = std::max(kv_heads, 1),
               .head_size = head_size}),
        pages{cache.take_pages(7), cache.take_pages(15)},
        spans{{.first = 0, .count = 3, .start = 4, .pages = pages[0]},
              {.first = 3, .count = 5, .start = 10, .pages = pages[1]}},
        cosines(random.numbers(static_cast<std::size_t>(kPositions * rotary_size / 2))),
        sines(random.numbers(static_cast<std::size_t>(kPositions * rotary_size / 2))),
        qkv(8, std::int64_t{heads + 2 * kv_heads} * head_size, random, -2, 2) {
    params = {.qkv = qkv.rows(),
              .shape = {heads, kv_heads, head_size},
              .spec = {.rotary_size = rotary_size},
              .cosines = cosines.data(),
              .sines = sines.data(),
              .table_positions = kPositions,
              .position_ids = position_ids,
              .spans = spans,
              .kv = cache.layer()};
  }
};

/// Each token's row, and the cache: the tokens' keys and values as they stand in the row, rounded,
/// and nothing else.
void expect_rotated(Step& step, int threads = 1) {
  const RotaryParams& params = step.params;
  std::vector<std::vector<double>> want;
  for (std::size_t t = 0; t < 8; ++t) {
    const auto row = step.qkv.row(static_cast<std::int64_t>(t));
    want.emplace_back(row.begin(), row.end());
    test::rotary_reference(params, step.position_ids[t], want.back());
  }
  in_parts(threads, [&](Share share) { rotate_and_store(params, share); });
  for (const SequenceSpan& span : step.spans) {
    for (std::int32_t i = 0; i < span.count; ++i) {
      const auto row = step.qkv.row(span.first + i);
      ASSERT_TRUE(is_close(row, want[static_cast<std::size_t>(span.first + i)], 1e-5))
          << "row " << span.first + i;
      if (params.kv.keys == nullptr) continue;
      const auto& [heads, kv_heads, size] = params.shape;
      const auto stored = [&](std::int32_t head) {
        return PagedCache::as_stored(
            params.kv.dtype,
            row.subspan(static_cast<std::size_t>(head) * static_cast<std::size_t>(size),
                        static_cast<std::size_t>(size)));
      };
      for (std::int32_t head = 0; head < kv_heads; ++head) {
        const std::vector<float> keys = stored(heads + head);
        const std::vector<float> values = stored(heads + kv_heads + head);
        for (std::int32_t d = 0; d < size; ++d) {
          const auto at = static_cast<std::size_t>(d);
          ASSERT_EQ(step.cache.key(span.pages, span.start + i, head, d), keys[at]);
          ASSERT_EQ(step.cache.value(span.pages, span.start + i, head, d), values[at]);
        }
      }
    }
  }
  const bool stored = params.kv.keys != nullptr;
  EXPECT_EQ(step.cache.filled(),
            stored ? 8 * 2 * params.shape.kv_heads * params.shape.head_size : 0);
  EXPECT_TRUE(step.qkv.is_untouched_between_rows());
}

TEST_P(RotaryTest, TurnsAndStoresEveryStyleSizeAndType) {
  Random random(1);
  for (const RotaryStyle style : {RotaryStyle::kHalves, RotaryStyle::kInterleaved}) {
    for (const auto& [size, turned] : std::vector<std::pair<std::int32_t, std::int32_t>>{
             {16, 16}, {20, 20}, {20, 6}, {64, 64}, {80, 32}, {96, 2}, {128, 128}, {33, 0}}) {
      for (const auto& [dtype, name] : kKvDTypes) {
        SCOPED_TRACE(testing::Message() << "D " << size << ", R " << turned << ", " << name);
        Step step(4, 2, size, turned, dtype, random);
        step.params.spec.style = style;
        expect_rotated(step, 3);
      }
    }
  }
}

TEST_P(RotaryTest, NormsHeadsInEveryWayBeforeOrAfter) {
  Random random(2);
  for (int way = 0; way < 4; ++way) {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      for (const bool after : {false, true}) {
        SCOPED_TRACE(testing::Message() << "way " << way << (after ? ", after" : ", before"));
        Step step(4, 2, 36, 36, DType::kF32, random);
        const auto weight = random.numbers(std::size_t{4} * 36);
        const auto bias = random.numbers(std::size_t{4} * 36);
        HeadNorm norm{.spec = {.enabled = true, .norm = {.kind = kind, .eps = 1e-5F}}};
        if (way > 0) norm.weight = weight.data();
        if (way > 1) norm.bias = bias.data();
        if (way > 1) norm.spec.norm.weight_offset = 1;
        if (way == 2) norm.spec.scope = HeadNormScope::kEachHead;
        if (way == 3) norm.spec.scope = HeadNormScope::kAllHeads;
        step.params.query_norm = norm;
        step.params.key_norm = norm;
        if (way % 2 == 0) step.params.value_norm = norm;
        step.params.spec.norm_after_rotary = after;
        step.params.spec.clip = 1.5F;
        expect_rotated(step, 2);
      }
    }
  }
}

TEST_P(RotaryTest, StoresValuesThatANormHasLeftAtOneScale) {
  Random random(9);
  Step step(2, 1, 24, 8, DType::kF32, random);
  step.params.value_norm = {.spec = {.enabled = true, .norm = {.eps = 1e-6F}}};
  rotate_and_store(step.params, Share{});
  double squares = 0;
  for (std::int32_t d = 0; d < 24; ++d) {
    const double value = step.cache.value(step.pages[0], step.spans[0].start, 0, d);
    squares += value * value;
  }
  EXPECT_NEAR(squares / 24, 1, 1e-4);
}

TEST_P(RotaryTest, TakesQueriesAloneAndKeysAndValuesAlone) {
  Random random(3);
  Step queries(4, 0, 16, 16, DType::kF32, random);
  expect_rotated(queries);
  Step keys(0, 2, 16, 16, DType::kBF16, random);
  expect_rotated(keys);
  Step unstored(2, 2, 16, 16, DType::kF32, random);
  unstored.params.kv = {};
  expect_rotated(unstored);
}

TEST_P(RotaryTest, GrowsQueriesByTheirPositionsAfterAllElse) {
  Random random(6);
  for (const std::int32_t turned : {0, 16}) {
    for (const bool after : {false, true}) {
      Step step(4, 2, 16, turned, DType::kF32, random);
      step.params.query_norm = {.spec = {.enabled = true, .norm = {.eps = 1e-5F}}};
      step.params.spec.norm_after_rotary = after;
      step.params.spec.query_growth = 0.4F;
      step.params.spec.query_growth_step = 3;
      expect_rotated(step, 2);
    }
  }
}

TEST_P(RotaryTest, ClipsWithoutHidingNaN) {
  Random random(4);
  Step step(1, 1, 8, 0, DType::kF32, random);
  step.params.spec.clip = 1;
  step.qkv.row(0)[0] = kInf;
  step.qkv.row(0)[1] = kNaN;
  rotate_and_store(step.params, Share{});
  EXPECT_EQ(step.qkv.row(0)[0], 1);
  EXPECT_TRUE(std::isnan(step.qkv.row(0)[1]));
}

/// Stores one key of `numbers` in a cache of codes, and returns what the cache holds of it.
std::vector<float> stored_key(DType dtype, const std::vector<float>& numbers) {
  Random random(7);
  Step step(0, 1, static_cast<std::int32_t>(numbers.size()), 0, dtype, random);
  std::ranges::copy(numbers, step.qkv.row(0).begin());
  rotate_and_store(step.params, Share{});
  std::vector<float> stored(numbers.size());
  for (std::size_t d = 0; d < stored.size(); ++d) {
    stored[d] = step.cache.key(step.pages[0], step.spans[0].start, 0, static_cast<std::int32_t>(d));
  }
  return stored;
}

TEST_P(RotaryTest, StoresCodesWithinHalfAStepOfTheNumbers) {
  Random random(8);
  for (const float range : {1e-30F, 1e-3F, 1.0F, 1e5F, 1.5e38F}) {
    const std::vector<float> numbers = random.numbers(100, -range, range);
    const float greatest = std::abs(
        *std::ranges::max_element(numbers, {}, [](float number) { return std::abs(number); }));
    const std::vector<float> integers = stored_key(DType::kI8, numbers);
    const std::vector<float> floats = stored_key(DType::kF8_E4M3, numbers);
    for (std::size_t d = 0; d < numbers.size(); ++d) {
      SCOPED_TRACE(testing::Message() << "number " << d << " of up to " << range);
      const float number = std::abs(numbers[d]);
      // A little more, since the scale is rounded too.
      EXPECT_LE(std::abs(integers[d] - numbers[d]), greatest / 127 * 0.50001F);
      // Three bits of fraction, and below 2^-6 of 448 the step of the subnormals.
      EXPECT_LE(std::abs(floats[d] - numbers[d]),
                std::max(number / 16, greatest / 448 * 0x1p-10F) * 1.00001F);
    }
  }
}

TEST_P(RotaryTest, GivesTheGreatestNumberOfARowTheGreatestCode) {
  const std::vector<float> numbers{0.5F, -8, 0, 4, 8};
  EXPECT_EQ(stored_key(DType::kF8_E4M3, numbers), numbers) << "448 and its parts are codes";
  const std::vector<float> stored = stored_key(DType::kI8, numbers);
  EXPECT_FLOAT_EQ(stored[0], 8.0F / 127 * 8) << "7.9 steps";
  EXPECT_FLOAT_EQ(stored[1], -8);
  EXPECT_EQ(stored[2], 0);
  EXPECT_FLOAT_EQ(stored[3], 8.0F / 127 * 64) << "63.5 steps: the even one";
  EXPECT_FLOAT_EQ(stored[4], 8);
}

TEST_P(RotaryTest, ShowsABrokenNumberInAllOfItsRowOfCodes) {
  for (const DType dtype : {DType::kI8, DType::kF8_E4M3}) {
    for (const float broken : {kNaN, kInf, -kInf}) {
      for (const float number : stored_key(dtype, {1, 2, broken, 3})) {
        EXPECT_TRUE(std::isnan(number)) << kv_dtype_name(dtype) << ' ' << broken;
      }
    }
    for (const float tiny : {0.0F, 1e-45F, 1e-37F}) {
      for (const float number : stored_key(dtype, {tiny, -tiny, 0, tiny})) EXPECT_EQ(number, 0);
    }
  }
}

TEST_P(RotaryTest, NoticesWhatDoesNotFit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Random random(5);
  Step step(2, 1, 8, 8, DType::kF32, random);
  step.position_ids[7] = kPositions;
  WEFT_EXPECT_BUG(rotate_and_store(step.params, Share{}), "a position outside the table");
  step.position_ids[7] = 0;
  step.spans[1].start = 11;
  WEFT_EXPECT_BUG(rotate_and_store(step.params, Share{}), "a span outside its rows or pages");
  step.spans[1].start = 10;
  step.pages[1].back() = 9;
  WEFT_EXPECT_BUG(rotate_and_store(step.params, Share{}), "a page outside the cache");
  step.params.spec.rotary_size = 10;
  WEFT_EXPECT_BUG(rotate_and_store(step.params, Share{}), "rotary_size");
}

}  // namespace
}  // namespace weft
