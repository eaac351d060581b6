#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

namespace weft::cuda {
namespace {

/// A step of two sequences and rows of none, over a cache.
struct RotarySetup {
  std::int64_t rows;
  CudaRotaryParams params;
  RowsPair qkv;
  Mirror<float> cosines;
  Mirror<float> sines;
  Mirror<float> weight;
  Mirror<std::int32_t> positions;
  Mirror<std::int32_t> sequence_of;
  Mirror<DeviceSequence> sequences;
  Mirror<std::int32_t> pages;
  Mirror<std::byte> keys;
  Mirror<std::byte> values;

  CudaRotaryParams on(bool device) {
    CudaRotaryParams made = params;
    const auto of = [device](auto& mirror) {
      return device ? mirror.device() : mirror.host.data();
    };
    made.rows = rows;
    made.qkv = device ? qkv.device() : qkv.host();
    made.cosines = of(cosines);
    made.sines = of(sines);
    for (HeadNorm* norm : {&made.query_norm, &made.key_norm, &made.value_norm}) {
      if (norm->weight != nullptr) norm->weight = of(weight);
      if (norm->bias != nullptr) norm->bias = of(weight) + 3;
    }
    made.position_ids = of(positions);
    made.spans = {of(sequences), of(sequence_of), of(pages)};
    if (made.kv.page_tokens == 0) return made;
    made.kv.keys = of(keys);
    made.kv.values = of(values);
    return made;
  }

  void expect_reference() {
    expect_runs([&](Stream stream) { return rotate_and_store(on(true), stream); });
    reference::rotate_and_store(on(false));
    qkv.expect_close(2e-5);
    if (params.kv.page_tokens == 0) return;
    const DType dtype = params.kv.dtype;
    const double unit = dtype == DType::kF32 ? 0 : (dtype == DType::kF16 ? 1e-3 : 8e-3);
    for (auto* cache : {&keys, &values}) {
      const auto got = cache->fetch();
      const auto count = static_cast<std::int64_t>(got.size() / (dtype == DType::kF32 ? 4 : 2));
      for (std::int64_t i = 0; i < count; ++i) {
        const double found = reference::load(dtype, got.data(), i);
        const double want = reference::load(dtype, cache->host.data(), i);
        if (std::isnan(want) && std::isnan(found)) continue;
        ASSERT_NEAR(found, want, 2e-5 + unit * std::abs(want)) << "at " << i << " of the cache";
      }
    }
  }

  /// Expects equal bytes. It is for keys without rotation and norm, so that no sum is in another
  /// order.
  void expect_the_same_bytes() {
    expect_runs([&](Stream stream) { return rotate_and_store(on(true), stream); });
    reference::rotate_and_store(on(false));
    EXPECT_TRUE(keys.fetch() == keys.host) << to_string(params.kv.dtype);
    EXPECT_TRUE(values.fetch() == values.host) << to_string(params.kv.dtype);
  }
};

class RotaryCudaTest : public OpsCudaTest {
 protected:
  RotarySetup setup(std::int32_t heads, std::int32_t kv_heads, std::int32_t size,
                    std::int32_t turned, DType dtype, std::int64_t rows,
                    const std::vector<float>* numbers = nullptr) {
    constexpr std::int32_t kPages = 80;
    constexpr std::int32_t kPageTokens = 5;
    // The first row's is the second sequence, the last row none's.
    const auto count = static_cast<std::int32_t>(rows);
    std::vector<DeviceSequence> sequences{{.first = 1, .count = count - 2, .start = 7},
                                          {.first = 0, .count = 1, .start = 3, .first_page = 70}};
    std::vector<std::int32_t> sequence_of(static_cast<std::size_t>(rows), 0);
    std::vector<std::int32_t> positions(static_cast<std::size_t>(rows));
    for (std::int32_t& position : positions) position = below(50);
    sequence_of[0] = 1;
    sequence_of.back() = rows > 1 ? -1 : 1;
    if (rows > 1) positions.back() = -1;
    std::vector<std::int32_t> pages(kPages);
    std::iota(pages.begin(), pages.end(), 0);
    std::ranges::shuffle(pages, engine_);
    const std::int64_t width = std::int64_t{heads + 2 * kv_heads} * size;
    const std::int64_t bytes =
        std::int64_t{kPages} * kPageTokens * kv_heads * kv_row_bytes(dtype, size);
    const std::vector<std::byte> cache(static_cast<std::size_t>(bytes), std::byte{0xff});
    return {.rows = rows,
            .params = {.shape = {heads, kv_heads, size},
                       .spec = {.rotary_size = turned},
                       .kv = {.dtype = dtype,
                              .page_tokens = kPageTokens,
                              .kv_heads = kv_heads,
                              .head_size = size}},
            .qkv = numbers == nullptr ? RowsPair::random(rows, width, DType::kF32, engine_)
                                      : RowsPair::of(rows, width, *numbers),
            .cosines = floats(std::int64_t{50} * std::max(turned / 2, 1)),
            .sines = floats(std::int64_t{50} * std::max(turned / 2, 1)),
            .weight = floats(std::int64_t{heads + 1} * size + 3),
            .positions = Mirror(positions),
            .sequence_of = Mirror(sequence_of),
            .sequences = Mirror(sequences),
            .pages = Mirror(pages),
            .keys = Mirror(cache),
            .values = Mirror(cache)};
  }
};

TEST_F(RotaryCudaTest, TurnsAndStoresEveryStyleSizeAndType) {
  for (const RotaryStyle style : {RotaryStyle::kHalves, RotaryStyle::kInterleaved}) {
    for (const auto& [size, turned] : test_sizes<std::pair<std::int32_t, std::int32_t>>(
             {{16, 16}, {20, 6}, {64, 64}, {80, 32}, {128, 128}, {33, 0}, {256, 128}},
             {{20, 6}, {64, 64}, {33, 0}})) {
      for (const DType dtype : kTypes) {
        for (const std::int64_t rows : test_sizes<std::int64_t>({1, 5, 300}, {5})) {
          SCOPED_TRACE(testing::Message() << "D " << size << ", R " << turned << ", rows " << rows);
          RotarySetup step = setup(5, 2, size, turned, dtype, rows);
          step.params.spec.style = style;
          step.params.spec.clip = size == 64 ? 0.8F : 0;
          step.expect_reference();
        }
      }
    }
  }
}

TEST_F(RotaryCudaTest, StoresCodesAndScalesAsTheHostDoesByteForByte) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::kI8, DType::kF8_E4M3}) {
    for (const std::int32_t size : {16, 33, 64, 128, 256}) {
      SCOPED_TRACE(testing::Message() << "D " << size);
      std::vector<float> rows = floats(std::int64_t{60} * 7 * size).host;
      // Heads of zeros, of what a normal scale cannot stand for, of ties, and of what is no number.
      const auto fill = [&](std::size_t head, auto number) {
        for (std::int32_t d = 0; d < size; ++d) {
          rows[head * static_cast<std::size_t>(size) + static_cast<std::size_t>(d)] = number(d);
        }
      };
      for (std::size_t row = 0; row < 50; row += 5) {
        const std::size_t key = row * 7 + 3;
        fill(key, [](std::int32_t) { return 0.0F; });
        fill(key + 1, [](std::int32_t d) { return d == 1 ? 1e-39F : -1e-40F; });
        fill(key + 2,
             [](std::int32_t d) { return d == 0 ? 127.0F : static_cast<float>(d) + 0.5F; });
        fill(key + 3, [&](std::int32_t d) { return d == 2 ? -kInfinity : 1.0F; });
        fill(key + 7, [](std::int32_t d) { return d == 3 ? std::nanf("") : 1.0F; });
        fill(key + 8,
             [](std::int32_t d) { return d == 0 ? 3e38F : static_cast<float>(d) * 1e36F; });
      }
      setup(3, 2, size, 0, dtype, 60, &rows).expect_the_same_bytes();
    }
  }
}

TEST_F(RotaryCudaTest, NormsHeadsInEveryWayBeforeOrAfter) {
  for (int way = 0; way < 4; ++way) {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      for (const bool after : {false, true}) {
        for (const std::int32_t heads : {4, 40}) {
          SCOPED_TRACE(testing::Message() << "way " << way << (after ? ", after" : ", before"));
          RotarySetup step = setup(heads, 4, 36, 36, DType::kBF16, 6);
          const float mark = 0;
          HeadNorm norm{.spec = {.enabled = true, .norm = {.kind = kind, .eps = 1e-5F}}};
          if (way > 0) norm.weight = &mark;
          if (way > 1) norm.bias = &mark;
          if (way > 1) norm.spec.norm.weight_offset = 1;
          if (way == 2) norm.spec.scope = HeadNormScope::kEachHead;
          if (way == 3) norm.spec.scope = HeadNormScope::kAllHeads;
          step.params.query_norm = norm;
          step.params.key_norm = norm;
          if (way % 2 == 0) step.params.value_norm = norm;
          if (way == 3) step.params.key_norm.spec.scope = HeadNormScope::kPerHead;
          step.params.spec.norm_after_rotary = after;
          step.params.spec.clip = 1.5F;
          step.expect_reference();
        }
      }
    }
  }
}

TEST_F(RotaryCudaTest, GrowsQueriesByTheirPositionsAfterAllElse) {
  for (const std::int32_t turned : {0, 16}) {
    for (const bool after : {false, true}) {
      RotarySetup step = setup(4, 2, 16, turned, DType::kF32, 9);
      step.params.query_norm = {.spec = {.enabled = true, .norm = {.eps = 1e-5F}}};
      step.params.spec.norm_after_rotary = after;
      step.params.spec.query_growth = 0.4F;
      step.params.spec.query_growth_step = 3;
      step.expect_reference();
    }
  }
}

TEST_F(RotaryCudaTest, NormsOverManyHeadsAndTakesQueriesAlone) {
  RotarySetup wide = setup(128, 8, 128, 128, DType::kF16, 3);
  const float mark = 0;
  wide.params.query_norm = {
      .spec = {.enabled = true, .norm = {.eps = 1e-6F}, .scope = HeadNormScope::kAllHeads},
      .weight = &mark};
  wide.params.key_norm = wide.params.query_norm;
  wide.expect_reference();
  RotarySetup queries = setup(4, 0, 16, 16, DType::kF32, 4);
  queries.params.kv.page_tokens = 0;
  queries.expect_reference();
}

}  // namespace
}  // namespace weft::cuda
