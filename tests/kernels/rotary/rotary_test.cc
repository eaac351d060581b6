#include "weft/kernels/rotary/rotary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

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
      for (std::int32_t at = 0; at < params.shape.kv_heads * params.shape.head_size; ++at) {
        const std::int32_t head = at / params.shape.head_size;
        const std::int32_t d = at % params.shape.head_size;
        const std::int32_t first = params.shape.heads * params.shape.head_size;
        const auto key = static_cast<std::size_t>(first) + static_cast<std::size_t>(at);
        const auto value =
            key + static_cast<std::size_t>(params.shape.kv_heads * params.shape.head_size);
        ASSERT_EQ(step.cache.key(span.pages, span.start + i, head, d),
                  PagedCache::as_stored(params.kv.dtype, row[key]));
        ASSERT_EQ(step.cache.value(span.pages, span.start + i, head, d),
                  PagedCache::as_stored(params.kv.dtype, row[value]));
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
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
        SCOPED_TRACE(testing::Message()
                     << "D " << size << ", R " << turned << ", " << to_string(dtype));
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
        step.params.spec.norm_after_rotary = after;
        step.params.spec.clip = 1.5F;
        expect_rotated(step, 2);
      }
    }
  }
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
