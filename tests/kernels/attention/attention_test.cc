#include "weft/kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/attention/paged_cache.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

class AttentionTest : public OpTest {};
WEFT_OP_TEST(AttentionTest);

/// The parameters of an attention; `params` without the pointers.
struct Model {
  std::int32_t heads = 4;
  std::int32_t kv_heads = 2;
  std::int32_t head_size = 32;
  std::int32_t page_tokens = 16;
  DType dtype = DType::kF32;
  AttentionParams params = {};
  std::vector<float> slopes = {};
  std::vector<float> relative = {};
  std::vector<float> sinks = {};
  float query_range = 3;
};

/// A sequence's whole context: queries, keys and values of each position. Keys and values are
/// numbers that the cache holds as they are.
struct Context {
  std::vector<float> queries;  // [context, A, D]
  std::vector<float> keys;     // [context, K, D]
  std::vector<float> values;
  std::int32_t length;

  Context(const Model& model, std::int32_t tokens, Random& random)
      : queries(random.numbers(
            static_cast<std::size_t>(std::int64_t{tokens} * model.heads * model.head_size),
            -model.query_range, model.query_range)),
        keys(random.numbers(
            static_cast<std::size_t>(std::int64_t{tokens} * model.kv_heads * model.head_size))),
        values(random.numbers(
            static_cast<std::size_t>(std::int64_t{tokens} * model.kv_heads * model.head_size))),
        length(tokens) {
    const auto size = static_cast<std::size_t>(model.head_size);
    for (std::vector<float>* numbers : {&keys, &values}) {
      for (std::size_t at = 0; at < numbers->size(); at += size) {
        const auto row = std::span(*numbers).subspan(at, size);
        std::ranges::copy(PagedCache::as_stored(model.dtype, row), row.begin());
      }
    }
  }
};

/// A sequence's part of a step.
struct Piece {
  const Context* context;
  std::int32_t start;
  std::int32_t count;
};

/// Runs one step and gives [tokens of the pieces, A * D].
std::vector<float> run_attention(const Model& model, const std::vector<Piece>& pieces,
                                 int threads = 1) {
  std::int32_t positions = 0;
  std::int32_t tokens = 0;
  for (const Piece& piece : pieces) {
    positions += piece.context->length + model.page_tokens;
    tokens += piece.count;
  }
  PagedCache cache({.dtype = model.dtype,
                    .pages = positions / model.page_tokens + 1,
                    .page_tokens = model.page_tokens,
                    .kv_heads = model.kv_heads,
                    .head_size = model.head_size});
  const std::int64_t width = std::int64_t{model.heads} * model.head_size;
  Table queries(tokens, width);
  Table out(tokens, width);
  std::vector<std::vector<std::int32_t>> pages(pieces.size());
  std::vector<SequenceSpan> spans;
  std::int32_t row = 0;
  for (std::size_t s = 0; s < pieces.size(); ++s) {
    const auto& [context, start, count] = pieces[s];
    // A causal query must not need what stands behind it: it is not even there.
    const std::int32_t filled = model.params.spec.causal ? start + count : context->length;
    pages[s] = cache.take_pages(filled);
    for (std::int32_t position = 0; position < filled; ++position) {
      cache.put(pages[s], position, context->keys, context->values);
    }
    spans.push_back({.first = row,
                     .count = count,
                     .start = start,
                     .pages = pages[s],
                     .context = model.params.spec.causal ? 0 : context->length});
    for (std::int32_t i = 0; i < count; ++i, ++row) {
      std::copy_n(context->queries.begin() + (start + i) * width, width, queries.row(row).begin());
    }
  }
  AttentionParams params = model.params;
  params.queries = queries.rows();
  params.heads = model.heads;
  params.kv = cache.layer();
  params.spans = spans;
  params.alibi_slopes = model.slopes.empty() ? nullptr : model.slopes.data();
  params.relative_bias = model.relative.empty() ? nullptr : model.relative.data();
  params.sinks = model.sinks.empty() ? nullptr : model.sinks.data();
  params.out = out.rows();
  in_parts(threads, [&](Share share) {
    AlignedBytes workspace(attention_workspace_bytes(model.heads, model.head_size));
    std::ranges::fill(workspace.span(), std::byte{0xff});  // NaN
    attention(params, share, workspace.span());
  });
  EXPECT_TRUE(out.is_untouched_between_rows());
  std::vector<float> result;
  for (std::int32_t t = 0; t < tokens; ++t) {
    result.insert(result.end(), out.row(t).begin(), out.row(t).end());
  }
  return result;
}

/// transformers' T5Attention._relative_position_bucket, in its own words.
std::int32_t t5_bucket(const AttentionParams& params, std::int32_t relative_position) {
  std::int32_t buckets = params.spec.relative_buckets;
  std::int32_t bucket = 0;
  if (params.spec.relative_bidirectional) {
    buckets /= 2;
    bucket += relative_position > 0 ? buckets : 0;
    relative_position = std::abs(relative_position);
  } else {
    relative_position = -std::min(relative_position, 0);
  }
  const std::int32_t max_exact = buckets / 2;
  if (relative_position < max_exact) return bucket + relative_position;
  const float scaled =
      std::log(static_cast<float>(relative_position) / static_cast<float>(max_exact)) /
      static_cast<float>(
          std::log(static_cast<double>(params.spec.relative_max_distance) / max_exact)) *
      static_cast<float>(buckets - max_exact);
  return bucket + std::min(max_exact + static_cast<std::int32_t>(scaled), buckets - 1);
}

bool sees(const AttentionParams& params, std::int32_t query, std::int32_t key) {
  if (params.spec.causal && key > query) return false;
  if (params.spec.window > 0 && std::abs(query - key) >= params.spec.window) return false;
  return params.spec.chunk == 0 || query / params.spec.chunk == key / params.spec.chunk;
}

double biased(const Model& model, double score, std::int32_t head, std::int32_t distance) {
  const AttentionParams& params = model.params;
  score *= params.spec.scale;
  if (params.spec.soft_cap > 0)
    score = params.spec.soft_cap * std::tanh(score / params.spec.soft_cap);
  const auto h = static_cast<std::size_t>(head);
  if (!model.slopes.empty()) score += double{model.slopes[h]} * distance;
  if (!model.relative.empty()) {
    const auto bucket = static_cast<std::size_t>(t5_bucket(params, distance));
    score += model.relative[h * static_cast<std::size_t>(params.spec.relative_buckets) + bucket];
  }
  return score;
}

/// One query's result in float64.
std::vector<double> attention_reference(const Model& model, const Context& context,
                                        std::int32_t position, std::int32_t head) {
  const auto size = static_cast<std::size_t>(model.head_size);
  const auto kv = static_cast<std::size_t>(head / (model.heads / model.kv_heads));
  const auto at = [&](std::int32_t key) {
    return (static_cast<std::size_t>(key) * static_cast<std::size_t>(model.kv_heads) + kv) * size;
  };
  const auto query = (static_cast<std::size_t>(position) * static_cast<std::size_t>(model.heads) +
                      static_cast<std::size_t>(head)) *
                     size;
  std::vector<double> scores;
  std::vector<std::int32_t> keys;
  for (std::int32_t key = 0; key < context.length; ++key) {
    if (!sees(model.params, position, key)) continue;
    double dot = 0;
    for (std::size_t d = 0; d < size; ++d) {
      dot += double{context.queries[query + d]} * context.keys[at(key) + d];
    }
    scores.push_back(biased(model, dot, head, key - position));
    keys.push_back(key);
  }
  std::vector<double> out(size, 0.0);
  if (keys.empty()) return out;
  double sum = 0;
  if (!model.sinks.empty()) sum += std::exp(double{model.sinks[static_cast<std::size_t>(head)]});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double weight = std::exp(scores[i]);
    sum += weight;
    for (std::size_t d = 0; d < size; ++d) out[d] += weight * context.values[at(keys[i]) + d];
  }
  for (double& number : out) number /= sum;
  return out;
}

/// A result is a mean of numbers up to 1; a score's error is that of a sum of D products, and moves
/// the weights by as much.
constexpr double kTolerance = 1e-5;

void expect_attention(const Model& model, const std::vector<Piece>& pieces, int threads = 1) {
  const std::vector<float> got = run_attention(model, pieces, threads);
  const auto size = static_cast<std::size_t>(model.head_size);
  std::size_t at = 0;
  for (std::size_t s = 0; s < pieces.size(); ++s) {
    for (std::int32_t i = 0; i < pieces[s].count; ++i) {
      for (std::int32_t head = 0; head < model.heads; ++head, at += size) {
        const auto want = attention_reference(model, *pieces[s].context, pieces[s].start + i, head);
        ASSERT_TRUE(is_close(std::span(got).subspan(at, size), want, kTolerance))
            << "sequence " << s << ", token " << i << ", head " << head;
      }
    }
  }
}

Model scaled(Model model) {
  model.params.spec.scale = 1.0F / std::sqrt(static_cast<float>(model.head_size));
  return model;
}

TEST_P(AttentionTest, AgreesWithFloat64ForEveryHeadSizeAndType) {
  Random random(1);
  for (const std::int32_t head_size : {1, 3, 4, 16, 20, 32, 37, 64, 80, 96, 128, 256}) {
    for (const auto& [dtype, name] : kKvDTypes) {
      const Model model = scaled({.head_size = head_size, .dtype = dtype});
      const Context context(model, 83, random);
      SCOPED_TRACE(testing::Message() << "D " << head_size << ", " << name);
      expect_attention(model, {{&context, 70, 13}});
    }
  }
}

TEST_P(AttentionTest, AgreesWithFloat64ForEveryContextAndPageSize) {
  Random random(2);
  for (const std::int32_t page_tokens : {1, 16, 64, 100}) {
    Model model = scaled({.heads = 2, .head_size = 20, .page_tokens = page_tokens});
    if (page_tokens > 1) model.dtype = page_tokens == 16 ? DType::kI8 : DType::kF8_E4M3;
    for (const std::int32_t length : {1, 2, 15, 16, 17, 63, 64, 65, 101, 127, 128, 129}) {
      const Context context(model, length, random);
      SCOPED_TRACE(testing::Message() << page_tokens << " a page, context " << length);
      expect_attention(model, {{&context, length - 1, 1}});
      expect_attention(model, {{&context, 0, length}});
    }
  }
}

TEST_P(AttentionTest, AgreesWithFloat64ForEveryWayToShareHeads) {
  Random random(3);
  for (const auto& [heads, kv_heads] : std::vector<std::pair<std::int32_t, std::int32_t>>{
           {1, 1}, {3, 3}, {7, 1}, {10, 2}, {71, 1}}) {
    const Model model = scaled({.heads = heads, .kv_heads = kv_heads, .head_size = 16});
    const Context context(model, 90, random);
    SCOPED_TRACE(testing::Message() << heads << " heads over " << kv_heads);
    expect_attention(model, {{&context, 0, 90}, {&context, 70, 1}}, 3);
  }
}

/// Every mask and bias that a model may have, alone and some together.
std::vector<Model> varieties(DType dtype = DType::kBF16) {
  Random random(4);
  std::vector<Model> all;
  const auto add = [&](auto change) {
    Model model = scaled({.head_size = 24, .dtype = dtype});
    change(model);
    all.push_back(std::move(model));
  };
  add([](Model& s) { s.params.spec.causal = false; });
  for (const std::int32_t window : {1, 5, 64, 70}) {
    add([&](Model& s) { s.params.spec.window = window; });
  }
  for (const std::int32_t window : {1, 30, 65}) {
    add([&](Model& s) {
      s.params.spec.causal = false;
      s.params.spec.window = window;
    });
  }
  for (const std::int32_t chunk : {1, 7, 64}) add([&](Model& s) { s.params.spec.chunk = chunk; });
  add([](Model& s) {
    s.params.spec.causal = false;
    s.params.spec.window = 9;
    s.params.spec.chunk = 50;
  });
  add([](Model& s) { s.params.spec.soft_cap = 1.5F; });
  add([](Model& s) { s.slopes = {0.5F, 0.25F, 0.0625F, 0.0039F}; });
  add([&](Model& s) { s.sinks = random.numbers(4, -2, 5); });
  for (const bool bidirectional : {false, true}) {
    add([&](Model& s) {
      s.params.spec.causal = !bidirectional;
      s.params.spec.scale = 1;
      s.params.spec.relative_buckets = 32;
      s.params.spec.relative_max_distance = 128;
      s.params.spec.relative_bidirectional = bidirectional;
      s.relative = random.numbers(128, -3, 3);
      s.query_range = 1;
    });
  }
  add([&](Model& s) {
    s.params.spec.window = 33;
    s.params.spec.soft_cap = 5;
    s.sinks = random.numbers(4);
  });
  return all;
}

TEST_P(AttentionTest, AgreesWithFloat64ForEveryMaskAndBias) {
  Random random(5);
  for (const DType dtype : {DType::kBF16, DType::kI8, DType::kF8_E4M3}) {
    std::size_t index = 0;
    for (const Model& model : varieties(dtype)) {
      const Context context(model, 135, random);
      SCOPED_TRACE(testing::Message() << "variety " << index++ << ", " << kv_dtype_name(dtype));
      if (!is_coded_kv(dtype)) expect_attention(model, {{&context, 0, 135}});
      expect_attention(model, {{&context, 134, 1}, {&context, 64, 15}}, 2);
    }
  }
}

TEST_P(AttentionTest, GivesTheSameBitsHoweverAPromptIsCutAndPaged) {
  Random random(6);
  std::vector<Model> models = varieties();
  models.push_back(scaled({.heads = 8, .kv_heads = 1, .head_size = 64}));
  models.push_back(scaled({.heads = 3, .kv_heads = 3, .head_size = 80, .dtype = DType::kF16}));
  models.push_back(scaled({.heads = 6, .kv_heads = 2, .head_size = 37, .dtype = DType::kI8}));
  models.push_back(scaled({.kv_heads = 1, .head_size = 64, .dtype = DType::kF8_E4M3}));
  for (Model& model : models) {
    constexpr std::int32_t kLength = 140;
    const Context context(model, kLength, random);
    const std::vector<float> whole = run_attention(model, {{&context, 0, kLength}});
    const auto width = static_cast<std::size_t>(std::int64_t{model.heads} * model.head_size);
    const auto agrees = [&](std::int32_t start, std::int32_t count) {
      const std::vector<float> part = run_attention(model, {{&context, start, count}});
      const float* same = whole.data() + static_cast<std::size_t>(start) * width;
      return test::same_bits(same, part.data(), std::ssize(part));
    };
    model.page_tokens = 1;
    for (const std::int32_t position : {0, 1, 16, 63, 64, 65, 127, 128, kLength - 1}) {
      ASSERT_TRUE(agrees(position, 1)) << "the token at " << position << " alone";
    }
    for (const std::int32_t cut : {13, 64, 99}) {
      model.page_tokens = cut + 5;
      for (std::int32_t start = 0; start < kLength; start += cut) {
        ASSERT_TRUE(agrees(start, std::min(cut, kLength - start))) << cut << " from " << start;
      }
    }
  }
}

TEST_P(AttentionTest, GivesTheSameBitsBesideOtherSequencesAndByAnyNumberOfThreads) {
  Random random(7);
  const Model model = scaled({.heads = 6, .kv_heads = 2, .head_size = 40});
  const Context one(model, 130, random);
  const Context other(model, 200, random);
  const std::vector<float> alone = run_attention(model, {{&one, 90, 40}});
  for (const int threads : {1, 2, 3, 8, 100}) {
    const std::vector<float> among =
        run_attention(model, {{&other, 199, 1}, {&one, 90, 40}, {&other, 0, 77}}, threads);
    const std::size_t before = 240;  // one token of six heads of 40
    EXPECT_TRUE(test::same_bits(alone.data(), among.data() + before, std::ssize(alone)))
        << threads << " threads";
  }
}

TEST_P(AttentionTest, DoesNotLetALaterTokenTouchAnEarlierOne) {
  Random random(8);
  for (const auto& [kv_heads, dtype] : std::vector<std::pair<std::int32_t, DType>>{
           {1, DType::kF32}, {4, DType::kF32}, {4, DType::kI8}, {1, DType::kF8_E4M3}}) {
    const Model model = scaled({.kv_heads = kv_heads, .dtype = dtype});
    Context context(model, 100, random);
    const std::vector<float> clean = run_attention(model, {{&context, 0, 100}});
    const auto from = static_cast<std::ptrdiff_t>(std::int64_t{70} * kv_heads * model.head_size);
    std::fill(context.keys.begin() + from, context.keys.end(), kNaN);
    std::fill(context.values.begin() + from, context.values.end(), kInf);
    const std::vector<float> spoiled = run_attention(model, {{&context, 0, 100}});
    const auto row = static_cast<std::size_t>(std::int64_t{model.heads} * model.head_size);
    EXPECT_TRUE(test::same_bits(clean.data(), spoiled.data(), static_cast<std::int64_t>(70 * row)));
    EXPECT_TRUE(std::isnan(spoiled[70 * row])) << "a broken key must show";
  }
}

TEST_P(AttentionTest, DoesNotLookAtPlacesThatHaveLeftTheWindow) {
  Random random(9);
  Model model = scaled({});
  model.params.spec.window = 30;
  Context context(model, 200, random);
  const std::vector<float> clean = run_attention(model, {{&context, 150, 50}});
  // The first query sees from 121 on.
  const auto end =
      static_cast<std::ptrdiff_t>(std::int64_t{121} * model.kv_heads * model.head_size);
  std::fill(context.keys.begin(), context.keys.begin() + end, kNaN);
  std::fill(context.values.begin(), context.values.begin() + end, kNaN);
  EXPECT_EQ(run_attention(model, {{&context, 150, 50}}), clean);
}

TEST_P(AttentionTest, GivesZerosToATokenThatSeesNothing) {
  Random random(10);
  Model model = scaled({});
  model.params.spec.causal = false;
  Context nothing(model, 3, random);
  nothing.length = 0;
  Context far(model, 40, random);
  for (const bool sinks : {false, true}) {
    if (sinks) model.sinks = random.numbers(4);
    for (const float number : run_attention(model, {{&nothing, 0, 3}})) EXPECT_EQ(number, 0);
    model.params.spec.window = 2;
    far.length = 10;  // the query stands at 39, what it could see ends at 9
    for (const float number : run_attention(model, {{&far, 39, 1}})) EXPECT_EQ(number, 0);
    model.params.spec.window = 0;
  }
}

TEST_P(AttentionTest, KeepsItsWeightsFiniteForScoresOfAnySize) {
  Random random(11);
  Model model{.head_size = 8};
  model.query_range = 1;
  model.params.spec.scale = 300;  // exp overflows at 89
  const Context context(model, 130, random);
  const std::vector<float> got = run_attention(model, {{&context, 129, 1}});
  for (const float number : got) EXPECT_LE(std::abs(number), 1) << number;
}

TEST_P(AttentionTest, ShowsAQueryThatIsNoNumber) {
  Random random(12);
  const Model model = scaled({});
  Context context(model, 70, random);
  context.queries[static_cast<std::size_t>(std::int64_t{69} * model.heads * model.head_size)] =
      kNaN;
  const std::vector<float> got = run_attention(model, {{&context, 69, 1}});
  const auto size = static_cast<std::size_t>(model.head_size);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i < size) << i;
}

TEST_P(AttentionTest, NoticesParametersThatDoNotFit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  PagedCache cache({.pages = 2, .page_tokens = 4, .kv_heads = 2, .head_size = 8});
  Table queries(3, 32);
  Table out(3, 32);
  AlignedBytes workspace(attention_workspace_bytes(4, 8));
  const std::vector<std::int32_t> pages{0, 2};
  std::vector<SequenceSpan> spans{{.first = 0, .count = 3, .start = 5, .pages = pages}};
  AttentionParams params{.queries = queries.rows(),
                         .heads = 4,
                         .kv = cache.layer(),
                         .spans = spans,
                         .out = out.rows()};
  WEFT_EXPECT_BUG(attention(params, {}, workspace.span()), "a page outside the cache");
  spans[0].start = 6;
  WEFT_EXPECT_BUG(attention(params, {}, workspace.span()), "a context outside its pages");
  spans[0] = {.first = 1, .count = 3, .start = 0, .pages = pages};
  WEFT_EXPECT_BUG(attention(params, {}, workspace.span()), "a span outside its rows");
  spans[0] = {};
  params.heads = 3;
  WEFT_EXPECT_BUG(attention(params, {}, workspace.span()), "no multiple of kv_heads");
  params.heads = 4;
  WEFT_EXPECT_BUG(attention(params, {}, workspace.span().first(64)), "the workspace");
}

}  // namespace
}  // namespace weft
