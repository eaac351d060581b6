#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/norm/scale_rows.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/sampling/sampler.h"
#include "weft/tests/kernels/attention/paged_cache.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/op_fixture.h"

/// Compares the references of kernels with the host's ops.
namespace weft {
namespace {

cuda::DeviceRows device_rows(Table& table) {
  const Rows rows = table.rows();
  return {.data = rows.data, .width = rows.width, .stride = rows.stride, .capacity = rows.count};
}

void expect_same(Table& got, Table& want, double tolerance = 1e-5) {
  for (std::int64_t t = 0; t < want.rows().count; ++t) {
    const auto row = want.row(t);
    const std::vector<double> numbers(row.begin(), row.end());
    ASSERT_TRUE(is_close(got.row(t), numbers, tolerance)) << "row " << t;
  }
}

TEST(OpsReferenceTest, NormsAsTheHost) {
  Random random(1);
  const auto weight = random.numbers(37);
  const auto bias = random.numbers(37);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    Table in(5, 37, random);
    Table residual(5, 37, random);
    Table want(5, 37);
    Table got(5, 37);
    const NormSpec spec{.kind = kind, .weight_offset = 1, .eps = 1e-5F};
    norm({.spec = spec,
          .in = in.rows(),
          .weight = weight.data(),
          .bias = bias.data(),
          .scale = 0.5F,
          .residual = residual.rows(),
          .out = want.rows()},
         Share{});
    cuda::reference::norm({.rows = 5,
                           .spec = spec,
                           .in = device_rows(in),
                           .weight = weight.data(),
                           .bias = bias.data(),
                           .scale = 0.5F,
                           .residual = device_rows(residual),
                           .out = device_rows(got)});
    expect_same(got, want);
  }
}

TEST(OpsReferenceTest, TurnsAndStoresAsTheHost) {
  Random random(2);
  const KvLayer shape{
      .dtype = DType::kBF16, .pages = 9, .page_tokens = 3, .kv_heads = 2, .head_size = 16};
  PagedCache want_cache(shape);
  PagedCache got_cache(shape);
  const auto pages = want_cache.take_pages(12);
  const std::vector<SequenceSpan> spans{{.first = 0, .count = 6, .start = 5, .pages = pages}};
  const cuda::DeviceSequence sequence{.first = 0, .count = 6, .start = 5};
  // One row more than the step has.
  const std::vector<std::int32_t> sequence_of{0, 0, 0, 0, 0, 0, -1};
  const std::vector<std::int32_t> positions{5, 6, 7, 8, 9, 10, -1};
  const auto cosines = random.numbers(std::size_t{20} * 6);
  const auto sines = random.numbers(std::size_t{20} * 6);
  const auto weight = random.numbers(64);
  const HeadNorm query_norm{
      .spec = {.enabled = true, .norm = {.eps = 1e-5F}, .scope = HeadNormScope::kAllHeads},
      .weight = weight.data()};
  const HeadNorm key_norm{
      .spec = {.enabled = true, .norm = {.kind = NormKind::kLayer, .eps = 1e-5F}},
      .weight = weight.data()};
  const HeadShape heads{.heads = 4, .kv_heads = 2, .head_size = 16};
  const RotarySpec spec{.clip = 0.9F, .rotary_size = 12};
  Table want(7, 128, random);
  Table got(7, 128);
  for (std::int64_t t = 0; t < 7; ++t) std::ranges::copy(want.row(t), got.row(t).begin());
  Rows step_rows = want.rows();
  step_rows.count = 6;
  rotate_and_store({.qkv = step_rows,
                    .shape = heads,
                    .spec = spec,
                    .query_norm = query_norm,
                    .key_norm = key_norm,
                    .cosines = cosines.data(),
                    .sines = sines.data(),
                    .table_positions = 20,
                    .position_ids = std::span(positions).first(6),
                    .spans = spans,
                    .kv = want_cache.layer()},
                   Share{});
  const KvLayer layer = got_cache.layer();
  cuda::reference::rotate_and_store(
      {.rows = 7,
       .qkv = device_rows(got),
       .shape = heads,
       .spec = spec,
       .query_norm = query_norm,
       .key_norm = key_norm,
       .cosines = cosines.data(),
       .sines = sines.data(),
       .position_ids = positions.data(),
       .spans = {.sequences = &sequence, .sequence_of = sequence_of.data(), .pages = pages.data()},
       .kv = {.dtype = layer.dtype,
              .keys = layer.keys,
              .values = layer.values,
              .page_tokens = layer.page_tokens,
              .kv_heads = layer.kv_heads,
              .head_size = layer.head_size}});
  for (std::int64_t t = 0; t < 6; ++t) {
    const auto row = want.row(t);
    ASSERT_TRUE(is_close(got.row(t), std::vector<double>(row.begin(), row.end()), 1e-5));
    for (std::int32_t at = 0; at < 32; ++at) {
      const auto place = static_cast<std::int32_t>(5 + t);
      ASSERT_NEAR(got_cache.key(pages, place, at / 16, at % 16),
                  want_cache.key(pages, place, at / 16, at % 16), 0.02);
      ASSERT_EQ(got_cache.value(pages, place, at / 16, at % 16),
                want_cache.value(pages, place, at / 16, at % 16));
    }
  }
  EXPECT_EQ(got_cache.filled(), want_cache.filled());
}

/// A routing's memory.
struct Choices {
  std::vector<std::int32_t> expert_of;
  std::vector<float> weight_of;
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> token_of;
  std::vector<std::int32_t> place_of;

  Choices(std::size_t choices, std::size_t experts)
      : expert_of(choices),
        weight_of(choices),
        starts(experts + 1),
        order(choices),
        token_of(choices),
        place_of(choices) {}

  cuda::DeviceRouting routing() {
    return {.expert_of = expert_of.data(),
            .weight_of = weight_of.data(),
            .starts = starts.data(),
            .order = order.data(),
            .token_of = token_of.data(),
            .place_of = place_of.data()};
  }
};

TEST(OpsReferenceTest, RoutesAndCombinesAsTheHost) {
  Random random(3);
  const auto bias = random.numbers(16, -0.1F, 0.1F);
  for (const RouterKind kind : {RouterKind::kSoftmaxThenTopK, RouterKind::kTopKThenSoftmax,
                                RouterKind::kSoftmaxOfClose, RouterKind::kSigmoid}) {
    Table scores(9, 16, random);
    Choices want(27, 16);
    Choices got(27, 16);
    const RouteSpec spec{.kind = kind,
                         .chosen = 3,
                         .groups = 4,
                         .chosen_groups = 2,
                         .group_best = 2,
                         .margin = 0.3F,
                         .normalize = true,
                         .scale = 1.5F};
    RouteParams host{.scores = scores.rows(),
                     .spec = spec,
                     .selection_bias = bias.data(),
                     .expert_of = want.expert_of,
                     .weight_of = want.weight_of,
                     .starts = want.starts,
                     .order = want.order,
                     .token_of = want.token_of};
    route(host, Share{});
    cuda::reference::route({.rows = 9,
                            .scores = device_rows(scores),
                            .experts = 16,
                            .spec = spec,
                            .selection_bias = bias.data(),
                            .routing = got.routing()});
    EXPECT_EQ(got.expert_of, want.expert_of);
    EXPECT_EQ(got.starts, want.starts);
    EXPECT_EQ(got.order, want.order);
    EXPECT_EQ(got.token_of, want.token_of);
    for (std::size_t c = 0; c < 27; ++c) {
      EXPECT_NEAR(got.weight_of[c], want.weight_of[c], 1e-6);
      EXPECT_EQ(got.order[static_cast<std::size_t>(got.place_of[c])], static_cast<int>(c));
    }

    Table in(27, 21, random);
    Table residual(9, 21, random);
    Table want_sum(9, 21);
    Table got_sum(9, 21);
    CombineParams sums{.in = in.rows(),
                       .chosen = 3,
                       .weight_of = want.weight_of,
                       .order = want.order,
                       .place_of = want.place_of,
                       .residual = residual.rows(),
                       .out = want_sum.rows()};
    invert_order(sums, Share{});
    combine(sums, Share{});
    cuda::reference::combine({.rows = 9,
                              .in = device_rows(in),
                              .chosen = 3,
                              .routing = got.routing(),
                              .residual = device_rows(residual),
                              .out = device_rows(got_sum)});
    expect_same(got_sum, want_sum);
  }
}

TEST(OpsReferenceTest, MultipliesByExpertsAsTheHost) {
  constexpr std::int64_t kOutputs = 11;
  constexpr std::int64_t kInputs = 20;
  Random random(6);
  for (const bool gated : {false, true}) {
    // One expert has everything, the other nothing.
    const auto numbers = random.numbers((gated ? 2 : 1) * kOutputs * kInputs);
    const auto bias = random.numbers((gated ? 2 : 1) * kOutputs);
    auto packed = PackedWeight::allocate(DType::kF32, kOutputs, kInputs, gated);
    ASSERT_TRUE(packed);
    packed->fill(0, {.data = reinterpret_cast<const std::byte*>(numbers.data()),
                     .outputs = (gated ? 2 : 1) * kOutputs,
                     .inputs = kInputs,
                     .stride_output = kInputs});
    std::vector<float> interleaved(32 * kInputs);
    for (std::int64_t row = 0; row < (gated ? 2 : 1) * kOutputs; ++row) {
      const std::int64_t n = row % kOutputs;
      const std::int64_t to = gated ? n / 8 * 16 + n % 8 + (row >= kOutputs ? 8 : 0) : n;
      std::copy_n(numbers.data() + row * kInputs, kInputs, interleaved.data() + to * kInputs);
    }
    const cuda::DeviceMatrix matrix{.data = reinterpret_cast<std::byte*>(interleaved.data()),
                                    .dtype = DType::kF32,
                                    .outputs = kOutputs,
                                    .inputs = kInputs,
                                    .stride = kInputs,
                                    .gated = gated};
    const std::vector<cuda::DeviceMatrix> weights{matrix, matrix};
    const std::vector<const float*> biases{nullptr, bias.data()};
    std::vector<std::int32_t> starts{0, 0, 5};
    Table in(5, kInputs, random);
    Table want(5, kOutputs);
    Table got(5, kOutputs);
    std::vector<std::byte> room(linear_workspace_bytes(5, kInputs) + 64);
    const auto skipped = -reinterpret_cast<std::uintptr_t>(room.data()) % 64;
    const LinearSpec spec{.activation = Activation::kSilu,
                          .scale = 0.5F,
                          .gate_limit = gated ? 0.7F : 0,
                          .up_offset = gated ? 1.0F : 0};
    linear({.in = in.rows(),
            .weight = &*packed,
            .bias = bias.data(),
            .spec = spec,
            .out = want.rows()},
           Share{}, std::span(room).subspan(skipped));
    cuda::reference::expert_linear({.linear = {.rows = 5,
                                               .in = device_rows(in),
                                               .weight = matrix,
                                               .spec = spec,
                                               .out = device_rows(got)},
                                    .experts = 2,
                                    .weights = weights.data(),
                                    .biases = biases.data(),
                                    .routing = {.starts = starts.data()}});
    expect_same(got, want);
  }
}

TEST(OpsReferenceTest, EmbedsAndScalesAsTheHost) {
  Random random(4);
  const auto table = random.numbers(std::size_t{10} * 24);
  const auto positions = random.numbers(std::size_t{8} * 24);
  const std::vector<TokenId> ids{3, 9, 0};
  const std::vector<std::int32_t> position_ids{2, 0, 5};
  Table want(3, 24);
  Table got(3, 24);
  const auto* bytes = reinterpret_cast<const std::byte*>(table.data());
  const EmbeddingSpec spec{.scale = 3, .position_offset = 2};
  embed({.ids = ids,
         .table = bytes,
         .vocabulary = 10,
         .spec = spec,
         .positions = positions.data(),
         .position_ids = position_ids,
         .position_count = 8,
         .out = want.rows()},
        Share{});
  cuda::reference::embed({.rows = 3,
                          .ids = ids.data(),
                          .table = bytes,
                          .table_rows = 10,
                          .spec = spec,
                          .positions = positions.data(),
                          .position_ids = position_ids.data(),
                          .out = device_rows(got)});
  expect_same(got, want);
  for (const std::int64_t count : {std::int64_t{1}, want.rows().width / 2, want.rows().width}) {
    Table scales(3, count, random);
    scale_rows({want.rows(), scales.rows(), want.rows(), want.rows()}, Share{});
    cuda::reference::scale_rows({.rows = 3,
                                 .in = device_rows(got),
                                 .scales = device_rows(scales),
                                 .residual = device_rows(got),
                                 .out = device_rows(got)});
    expect_same(got, want);
  }
}

TEST(OpsReferenceTest, WritesTablesAndCountsTokens) {
  const std::vector<std::int32_t> pages{7, 8, 9};
  const cuda::TableWrite write{.table = 4, .first = 1, .first_page = 1, .count = 2};
  std::vector<std::int32_t> tables(8, -1);
  cuda::reference::write_tables(
      {.writes = &write, .write_count = 1, .pages = pages.data(), .tables = tables.data()});
  EXPECT_EQ(tables, (std::vector<std::int32_t>{-1, -1, -1, -1, -1, 8, 9, -1}));

  std::vector<std::uint32_t> counts(10, 77);
  const std::vector<TokenId> tokens{1, 2, 2, 1};
  cuda::reference::start_counts({.slot = 1,
                                 .tokens = tokens.data(),
                                 .token_count = 4,
                                 .prompt_tokens = 2,
                                 .counts = {counts.data(), 5}});
  constexpr std::uint32_t kSeen = 0x80000000U;
  EXPECT_EQ(counts,
            (std::vector<std::uint32_t>{77, 77, 77, 77, 77, 0, kSeen + 1, kSeen + 1, 0, 0}));

  std::vector<cuda::SampleSettings> settings(2);
  settings[1].counts = true;
  const std::vector<TokenId> wanted{4, -2, -1, 3};
  const std::vector<TokenId> last{kNoToken, 2};
  const std::vector<std::int32_t> slot_of{0, 1, 0, -1};
  const std::vector<std::uint8_t> is_output{1, 1, 1, 1};
  std::vector<TokenId> ids(4, -7);
  cuda::reference::resolve_tokens({.rows = 4,
                                   .wanted = wanted.data(),
                                   .slot_of = slot_of.data(),
                                   .is_output = is_output.data(),
                                   .last_tokens = last.data(),
                                   .settings = settings.data(),
                                   .counts = {counts.data(), 5},
                                   .ids = ids.data()});
  EXPECT_EQ(ids, (std::vector<TokenId>{4, 2, 0, 0}));
  EXPECT_EQ(counts[7], kSeen + 2);
  EXPECT_EQ(counts[0], 77U);
}

/// The sampler after the same tokens, its parameters those of the settings.
TEST(OpsReferenceTest, ChoosesAsTheHostsSampler) {
  constexpr std::size_t kVocabulary = 80;
  Random random(5);
  const auto lists = std::make_unique<cuda::SampleLists>();
  lists->bias_token[0] = 5;
  lists->bias[0] = 2;
  lists->bad[0] = 6;
  lists->stops[0] = 7;
  for (int way = 0; way < 6; ++way) {
    const bool draws = way != 0;
    cuda::SampleSettings settings{.seed = 9,
                                  .temperature = draws ? 0.8F : 0,
                                  .top_k = way == 2 ? 20 : 0,
                                  .typical_p = way == 3 ? 0.7F : 1,
                                  .top_p = way >= 2 ? 0.9F : 1,
                                  .min_p = way == 4 ? 0.05F : 0,
                                  .repetition = way == 5 ? 1.3F : 1,
                                  .frequency = way == 5 ? 0.5F : 0,
                                  .min_tokens = 3,
                                  .top_count = 4,
                                  .counts = way == 5,
                                  .logprobs = true,
                                  .biases = 1,
                                  .bad = 1,
                                  .stops = 1};
    auto params = std::make_shared<SamplingParams>();
    params->logit_bias = {{5, 2}};
    params->bad_tokens = {6};
    params->stop_tokens = {7};
    params->min_tokens = 3;
    params->penalties = {.repetition = settings.repetition, .frequency = settings.frequency};
    params->temperature = settings.temperature;
    params->top_k = settings.top_k;
    params->typical_p = settings.typical_p;
    params->top_p = settings.top_p;
    params->min_p = settings.min_p;
    params->logprobs = true;
    params->top_logprobs = 4;
    const std::vector<TokenId> tokens{1, 2, 3, 3};
    std::vector<std::uint32_t> counts(kVocabulary);
    cuda::reference::start_counts({.tokens = tokens.data(),
                                   .token_count = 4,
                                   .prompt_tokens = 2,
                                   .counts = {counts.data(), kVocabulary}});
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      settings.seed = seed;
      auto logits = random.numbers(kVocabulary, -4, 4);
      const cuda::SampleItem item{.position = 4, .output_tokens = 2};
      const std::int32_t count = 1;
      cuda::SampleChoice choice;
      TokenId last = kNoToken;
      cuda::reference::sample({.items = &item,
                               .item_count = &count,
                               .max_items = 1,
                               .logits = {.data = logits.data(), .width = kVocabulary},
                               .settings = &settings,
                               .lists = lists.get(),
                               .counts = {counts.data(), kVocabulary},
                               .last_tokens = &last,
                               .choices = &choice});
      Sampler sampler(kVocabulary, 16);
      sampler.start(params, {}, seed, 2);
      sampler.observe(tokens);
      SamplerScratch scratch(kVocabulary);
      const SampleOutcome want = sampler.sample(logits, scratch);
      ASSERT_EQ(choice.token, want.token) << "way " << way;
      ASSERT_EQ(last, want.token);
      ASSERT_EQ(choice.logprob, want.logprob);
      ASSERT_EQ(static_cast<std::size_t>(choice.top_count), want.top.size());
      for (std::size_t i = 0; i < want.top.size(); ++i) {
        ASSERT_EQ(choice.top[i].token, want.top[i].token);
        ASSERT_EQ(choice.top[i].logprob, want.top[i].logprob);
      }
    }
  }
}

}  // namespace
}  // namespace weft
