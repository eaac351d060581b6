#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/kernels/attention/attention_ways_cuda.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"

namespace weft::cuda {
namespace {

/// The parameters of a step of decoding sequences.
struct RotatedModel {
  std::int32_t heads = 8;
  std::int32_t kv_heads = 2;
  std::int32_t head_size = 128;
  DType dtype = DType::kBF16;
  std::int32_t page_tokens = 16;
};

/// A step of which rotary and attention are computed in one launch or in two, over a cache that has
/// numbers for all positions but the step's own.
struct RotatedStep {
  std::int64_t rows;
  CudaRotaryParams rotary;
  CudaAttentionParams attention;
  RowsPair qkv;
  RowsPair out;
  Mirror<float> cosines;
  Mirror<float> sines;
  Mirror<float> weight;
  Mirror<std::int32_t> positions;
  Mirror<std::int32_t> sequence_of;
  Mirror<DeviceSequence> sequences;
  Mirror<std::int32_t> pages;
  Mirror<std::byte> keys;
  Mirror<std::byte> values;
  Mirror<CudaAttentionItem> items;
  Mirror<std::int32_t> count;
  Mirror<std::byte> workspace;

  void fill_in() {
    rotary.rows = attention.rows = rows;
    rotary.qkv = attention.queries = qkv.device();
    attention.out = out.device();
    rotary.cosines = cosines.device();
    rotary.sines = sines.device();
    for (HeadNorm* norm : {&rotary.query_norm, &rotary.key_norm, &rotary.value_norm}) {
      if (norm->spec.enabled) norm->weight = weight.device();
    }
    rotary.position_ids = positions.device();
    rotary.spans = {sequences.device(), sequence_of.device(), pages.device()};
    attention.spans = rotary.spans;
    attention.kv.keys = keys.device();
    attention.kv.values = values.device();
    if (rotary.shape.kv_heads > 0) rotary.kv = attention.kv;
    attention.items = items.device();
    attention.item_count = count.device();
    attention.workspace = workspace.device();
  }

  struct Outcome {
    std::vector<double> out;
    std::vector<std::byte> keys;
    std::vector<std::byte> values;
  };

  Outcome run(bool together) {
    fill_in();
    EXPECT_TRUE(rotates_inside(rotary, attention));
    if (together) {
      attention.rotary = rotary;
      expect_runs([&](Stream stream) { return cuda::attention(attention, stream); });
    } else {
      expect_runs([&](Stream stream) { return rotate_and_store(rotary, stream); });
      expect_runs([&](Stream stream) { return cuda::attention(attention, stream); });
    }
    return {out.fetch(rows), keys.fetch(), values.fetch()};
  }
};

class AttentionRotaryCudaTest : public OpsCudaTest {
 protected:
  /// Sequences with so many tokens, the last of which is the step's. The same seed makes the same.
  RotatedStep step(const RotatedModel& model, const std::vector<std::int32_t>& contexts,
                   std::int32_t turned, unsigned seed) {
    engine_.seed(seed);
    const auto rows = static_cast<std::int64_t>(contexts.size()) + 1;  // the last row is none's
    std::vector<DeviceSequence> sequences;
    std::vector<std::int32_t> sequence_of(static_cast<std::size_t>(rows), -1);
    std::vector<std::int32_t> positions(static_cast<std::size_t>(rows), -1);
    std::int32_t page_count = 0;
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      const auto row = static_cast<std::int32_t>(i);
      sequences.push_back({row, 1, contexts[i] - 1, contexts[i], page_count});
      page_count += (contexts[i] + model.page_tokens - 1) / model.page_tokens;
      sequence_of[i] = row;
      positions[i] = contexts[i] - 1;
    }
    std::vector<std::int32_t> pages(static_cast<std::size_t>(page_count));
    std::iota(pages.begin(), pages.end(), 0);
    std::ranges::shuffle(pages, engine_);
    const AttentionShape shape = plan_shape(model, contexts);
    std::vector<CudaAttentionItem> items;
    plan_attention(sequences, shape, items);
    const auto count = static_cast<std::int32_t>(items.size());
    const std::int64_t width = std::int64_t{model.heads + 2 * model.kv_heads} * model.head_size;
    const std::int64_t angles =
        std::int64_t{*std::ranges::max_element(contexts)} * std::max(turned / 2, 1);
    const std::size_t room =
        cuda_attention_workspace_bytes(shape.max_items, model.heads, model.head_size);
    return {.rows = rows,
            .rotary = {.shape = {model.heads, model.kv_heads, model.head_size},
                       .spec = {.rotary_size = turned}},
            .attention = {.heads = model.heads,
                          .kv = {.dtype = model.dtype,
                                 .page_tokens = model.page_tokens,
                                 .kv_heads = model.kv_heads,
                                 .head_size = model.head_size},
                          .max_items = shape.max_items,
                          .decodes = true,
                          .spec = {.scale = 1.0F / std::sqrt(static_cast<float>(model.head_size))}},
            .qkv = RowsPair::random(rows, width, DType::kF32, engine_),
            .out = RowsPair::poisoned(rows, std::int64_t{model.heads} * model.head_size),
            .cosines = floats(angles),
            .sines = floats(angles),
            .weight = floats(std::int64_t{model.heads} * model.head_size),
            .positions = Mirror(positions),
            .sequence_of = Mirror(sequence_of),
            .sequences = Mirror(sequences),
            .pages = Mirror(pages),
            .keys = cache(model, page_count),
            .values = cache(model, page_count),
            .items = Mirror(items),
            .count = Mirror(std::vector<std::int32_t>{count}),
            .workspace = Mirror(std::vector<std::byte>(room, std::byte{0}))};
  }

  static AttentionShape plan_shape(const RotatedModel& model,
                                   const std::vector<std::int32_t>& contexts) {
    AttentionShape shape{.processors = 132,
                         .heads = model.heads,
                         .kv_heads = model.kv_heads,
                         .head_size = model.head_size,
                         .page_tokens = model.page_tokens};
    const auto rows = static_cast<std::int32_t>(contexts.size());
    shape.max_items = max_attention_items(rows, rows, shape);
    return shape;
  }

  Mirror<std::byte> cache(const RotatedModel& model, std::int32_t pages) {
    const std::int64_t bytes = std::int64_t{pages} * model.page_tokens * model.kv_heads *
                               kv_row_bytes(model.dtype, model.head_size);
    // 0.5 to 1 in bf16, a small number in f16, and a scale of that size with codes behind it.
    std::vector<std::byte> all(static_cast<std::size_t>(bytes));
    for (std::byte& byte : all) byte = static_cast<std::byte>(0x3c + below(4));
    return Mirror(std::move(all));
  }

  /// Expects that one launch has the bits of two, in the output and in the cache.
  template <class Change>
  void expect_same(const RotatedModel& model, const std::vector<std::int32_t>& contexts,
                   std::int32_t turned, const Change& change) {
    RotatedStep apart = step(model, contexts, turned, 5);
    RotatedStep together = step(model, contexts, turned, 5);
    change(apart);
    change(together);
    const RotatedStep::Outcome want = apart.run(false);
    const RotatedStep::Outcome got = together.run(true);
    for (std::size_t i = 0; i < want.out.size(); ++i) {
      if (std::isnan(want.out[i]) && std::isnan(got.out[i])) continue;
      ASSERT_EQ(got.out[i], want.out[i]) << "at " << i;
    }
    EXPECT_FALSE(std::isnan(got.out.front()));
    EXPECT_TRUE(got.keys == want.keys);
    EXPECT_TRUE(got.values == want.values);
    EXPECT_FALSE(got.keys == together.keys.host) << "no key was stored";
  }
};

const std::vector<std::int32_t> many_contexts =
    test_sizes({1, 2, 15, 16, 17, 33, 64, 65, 300, 2500}, {1, 16, 17, 130});

TEST_F(AttentionRotaryCudaTest, OneLaunchHasTheBitsOfTwoForEachHeadSizeAndCache) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8, DType::kF8_E4M3}) {
    for (const std::int32_t size : {64, 80, 96, 128, 256}) {
      for (const RotaryStyle style :
           test_sizes({RotaryStyle::kHalves, RotaryStyle::kInterleaved}, {RotaryStyle::kHalves})) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ", D " << size);
        expect_same({.head_size = size, .dtype = dtype}, many_contexts, size,
                    [&](RotatedStep& step) { step.rotary.spec.style = style; });
      }
    }
  }
}

TEST_F(AttentionRotaryCudaTest, OneLaunchHasTheBitsOfTwoForEachShareOfHeads) {
  for (const auto& [heads, kv_heads] : test_sizes<std::pair<std::int32_t, std::int32_t>>(
           {{1, 1}, {4, 4}, {16, 1}, {14, 2}, {32, 8}, {32, 32}}, {{1, 1}, {14, 2}})) {
    for (const std::int32_t page_tokens : test_sizes({1, 5, 64}, {5})) {
      SCOPED_TRACE(testing::Message() << heads << " and " << kv_heads << " heads");
      const std::vector<std::int32_t> contexts =
          kv_heads > 16 ? std::vector<std::int32_t>{1, 65, 900} : many_contexts;
      expect_same({.heads = heads, .kv_heads = kv_heads, .page_tokens = page_tokens}, contexts, 64,
                  [](RotatedStep& /*step*/) {});
    }
  }
}

TEST_F(AttentionRotaryCudaTest, OneLaunchHasTheBitsOfTwoWithNormsClipGrowthAndWindow) {
  for (int way = 0; way < 6; ++way) {
    SCOPED_TRACE(testing::Message() << "way " << way);
    expect_same({}, many_contexts, way == 5 ? 0 : 128, [&](RotatedStep& step) {
      HeadNorm norm{.spec = {.enabled = true, .norm = {.eps = 1e-5F}}};
      if (way == 1) norm.spec.scope = HeadNormScope::kEachHead;
      if (way < 3) step.rotary.query_norm = step.rotary.key_norm = norm;
      if (way == 2) step.rotary.spec.norm_after_rotary = true;
      if (way == 3) step.rotary.spec.clip = 0.7F;
      if (way == 4) step.rotary.spec.query_growth = 0.3F;
      if (way == 4) step.rotary.spec.query_growth_step = 16;
      if (way % 2 == 1) step.attention.spec.window = 40;
    });
  }
}

TEST_F(AttentionRotaryCudaTest, UnifiedMaximumComputesAgainWithTheSameQueries) {
  for (const float phi : {3.0F, 200.0F, -200.0F}) {
    expect_same({}, many_contexts, 128, [&](RotatedStep& step) {
      step.attention.unified = true;
      step.attention.phi = phi;
    });
  }
}

TEST_F(AttentionRotaryCudaTest, RefusesWhatItCannotRotate) {
  RotatedStep one = step({}, {40}, 128, 5);
  one.fill_in();
  one.attention.rotary = one.rotary;
  one.attention.rotary.query_norm.spec = {.enabled = true, .scope = HeadNormScope::kAllHeads};
  EXPECT_NE(attention(one.attention, nullptr), Status::kSuccess);
}

}  // namespace
}  // namespace weft::cuda
