#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "weft/kernels/attention/attention.h"
#include "weft/kernels/gradients/activation_slope.h"
#include "weft/kernels/gradients/cross_entropy.h"
#include "weft/kernels/gradients/epilogue_gradient.h"
#include "weft/kernels/gradients/norm_gradient.h"
#include "weft/kernels/gradients/packed_attention.h"
#include "weft/kernels/gradients/softmax_row.h"
#include "weft/kernels/norm/norm.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

class GradientTest : public OpTest {};
WEFT_OP_TEST(GradientTest);

constexpr float kStep = 1e-2F;

/// A table of rows that stand one behind the other.
struct Numbers {
  Numbers(std::int64_t rows, std::int64_t columns, std::vector<float> all)
      : values(std::move(all)), count(rows), width(columns) {}

  [[nodiscard]] Rows rows() { return {values.data(), count, width, width}; }

  std::vector<float> values;
  std::int64_t count;
  std::int64_t width;
};

Numbers random_numbers(Random& random, std::int64_t rows, std::int64_t width) {
  return {rows, width, random.numbers(static_cast<std::size_t>(rows * width))};
}
Numbers zeros(std::int64_t rows, std::int64_t width) {
  return {rows, width, std::vector<float>(static_cast<std::size_t>(rows * width))};
}

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += double{a.values[i]} * b.values[i];
  return sum;
}

/// Expects `gradient` to be the slopes of `loss` by each of `numbers`.
void expect_slopes(const std::function<double()>& loss, std::vector<float>& numbers,
                   const std::vector<float>& gradient, const std::string& name,
                   double tolerance = 2e-3) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float at = numbers[i];
    numbers[i] = at + kStep;
    const double above = loss();
    numbers[i] = at - kStep;
    const double below = loss();
    numbers[i] = at;
    const double slope = (above - below) / (2 * double{kStep});
    ASSERT_NEAR(gradient[i], slope, tolerance * (1 + std::abs(slope))) << name << ", number " << i;
  }
}

TEST(ActivationSlopeTest, ValuesAndSlopesAgreeWithDifferences) {
  const XieluSpec xielu;
  for (int kind = 0; kind <= static_cast<int>(Activation::kXielu); ++kind) {
    const auto activation = static_cast<Activation>(kind);
    for (const float x : {-3.1F, -1.0F, -0.3F, 0.2F, 0.9F, 2.7F}) {
      const ActivationPoint below = activation_at(activation, xielu, x - kStep);
      const ActivationPoint above = activation_at(activation, xielu, x + kStep);
      EXPECT_NEAR(activation_at(activation, xielu, x).slope,
                  (above.value - below.value) / (2 * kStep), 1e-3)
          << to_string(activation) << " at " << x;
    }
  }
}

TEST_P(GradientTest, OfNormsAgreesWithDifferences) {
  Random random(1);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const std::int64_t width : {5, 16, 33}) {
      Numbers in = random_numbers(random, 2, width);
      const Numbers out_gradient = random_numbers(random, 2, width);
      Numbers own_gradient = out_gradient;
      const auto weight = random.numbers(static_cast<std::size_t>(width));
      const NormSpec spec{.kind = kind, .weight_offset = 1, .eps = 1e-3F};
      const auto loss = [&] {
        Numbers out = zeros(2, width);
        norm({.spec = spec,
              .in = in.rows(),
              .weight = weight.data(),
              .scale = 0.7F,
              .out = out.rows()},
             Share{});
        return dot(out, out_gradient);
      };
      Numbers gradient = zeros(2, width);
      norm_gradient({spec, in.rows(), weight.data(), 0.7F, own_gradient.rows(), gradient.rows()},
                    Share{});
      expect_slopes(loss, in.values, gradient.values, "norm of " + std::to_string(width));
    }
  }
}

/// Epilogues of all kinds: plain, bent, gated and limited.
std::vector<std::pair<LinearSpec, bool>> epilogues() {
  return {{{.scale = 0.5F}, false},
          {{.activation = Activation::kGeluTanh, .soft_cap = 1.5F}, false},
          {{.activation = Activation::kSilu, .scale = 2}, true},
          {{.gate_limit = 0.55F, .up_offset = 1, .gate_alpha = 1.702F}, true}};
}

TEST(EpilogueGradientTest, AgreesWithDifferences) {
  Random random(2);
  for (const auto& [spec, gated] : epilogues()) {
    Numbers sums = random_numbers(random, 3, gated ? 10 : 5);
    // A difference across a limit is no slope.
    for (float& sum : sums.values) {
      if (std::abs(std::abs(sum) - 0.55F) < 2 * kStep) sum = 0.3F;
    }
    Numbers out_gradient = random_numbers(random, 3, 5);
    const auto loss = [&] {
      Numbers out = zeros(3, 5);
      finish_linear({spec, gated, sums.rows(), {}, out.rows()}, Share{});
      return dot(out, out_gradient);
    };
    Numbers gradient = zeros(3, sums.width);
    epilogue_gradient({spec, gated, sums.rows(), out_gradient.rows(), gradient.rows()}, Share{});
    expect_slopes(loss, sums.values, gradient.values, gated ? "gated" : "plain");
  }
}

TEST(EpilogueGradientTest, TheResidualIsAdded) {
  Numbers sums(1, 2, {1, 2});
  Numbers residual(1, 2, {10, 20});
  Numbers out = zeros(1, 2);
  finish_linear({{.scale = 3}, false, sums.rows(), residual.rows(), out.rows()}, Share{});
  EXPECT_EQ(out.values, (std::vector<float>{13, 26}));
}

struct Attending {
  HeadShape shape{4, 2, 5};
  AttentionSpec spec{.scale = 0.4F};
  std::vector<PackedSpan> spans{{0, 7}, {7, 1}, {8, 60}};

  [[nodiscard]] std::int64_t rows() const { return spans.back().first + spans.back().count; }
  [[nodiscard]] std::int64_t width() const {
    return (std::int64_t{shape.heads} + 2 * shape.kv_heads) * shape.head_size;
  }
  [[nodiscard]] PackedAttentionParams params(Numbers& qkv) const {
    return {qkv.rows(), shape, spec, spans};
  }
  [[nodiscard]] std::vector<std::byte> workspace() const {
    return std::vector<std::byte>(packed_attention_workspace_bytes(60));
  }
};

std::vector<Attending> attending_ways() {
  std::vector<Attending> ways(4);
  ways[1].spec.window = 4;
  ways[2].spec.soft_cap = 0.8F;
  ways[3].spec.chunk = 3;
  return ways;
}

/// Computes this attention by the op of inference, over pages of one sequence.
std::vector<float> attended_by_pages(const Attending& way, Numbers& qkv, const PackedSpan& span) {
  const HeadShape& shape = way.shape;
  const auto count = static_cast<std::int32_t>(span.count);
  const auto numbers = static_cast<std::size_t>(shape.kv_heads * count * shape.head_size);
  std::vector<float> keys(numbers);
  std::vector<float> values(numbers);
  for (std::int32_t head = 0; head < shape.kv_heads; ++head) {
    for (std::int32_t t = 0; t < count; ++t) {
      const float* row = qkv.rows().row(span.first + t) + (shape.heads + head) * shape.head_size;
      const auto at = static_cast<std::ptrdiff_t>(head * count + t) * shape.head_size;
      std::copy_n(row, shape.head_size, keys.begin() + at);
      std::copy_n(row + shape.kv_heads * shape.head_size, shape.head_size, values.begin() + at);
    }
  }
  const std::array<std::int32_t, 1> pages{0};
  const std::array spans{SequenceSpan{0, count, 0, pages, 0}};
  std::vector<float> out(static_cast<std::size_t>(count * shape.heads * shape.head_size));
  AttentionParams params;
  params.queries = {qkv.rows().row(span.first), count, qkv.width, qkv.width};
  params.heads = shape.heads;
  params.kv = {.keys = reinterpret_cast<std::byte*>(keys.data()),
               .values = reinterpret_cast<std::byte*>(values.data()),
               .pages = 1,
               .page_tokens = count,
               .kv_heads = shape.kv_heads,
               .head_size = shape.head_size};
  params.spans = spans;
  params.spec = way.spec;
  const std::int64_t width = std::int64_t{shape.heads} * shape.head_size;
  params.out = {out.data(), count, width, width};
  std::vector<std::byte> space(attention_workspace_bytes(shape.heads, shape.head_size) + 64);
  const auto address = reinterpret_cast<std::uintptr_t>(space.data());
  attention(params, Share{}, std::span(space).subspan((64 - address % 64) % 64));
  return out;
}

TEST_P(GradientTest, PackedAttentionIsAttentionOfEachSequenceAlone) {
  Random random(3);
  for (const Attending& way : attending_ways()) {
    Numbers qkv = random_numbers(random, way.rows(), way.width());
    Numbers out = zeros(way.rows(), std::int64_t{way.shape.heads} * way.shape.head_size);
    auto workspace = way.workspace();
    packed_attention(way.params(qkv), out.rows(), Share{}, workspace);
    for (const PackedSpan& span : way.spans) {
      const std::vector<float> alone = attended_by_pages(way, qkv, span);
      const std::vector<double> wanted(alone.begin(), alone.end());
      EXPECT_TRUE(is_close({out.rows().row(span.first), alone.size()}, wanted, 1e-5))
          << "window " << way.spec.window << ", chunk " << way.spec.chunk;
    }
  }
}

TEST_P(GradientTest, OfPackedAttentionAgreesWithDifferences) {
  Random random(4);
  for (Attending way : attending_ways()) {
    way.spans = {{0, 5}, {5, 3}};
    Numbers qkv = random_numbers(random, way.rows(), way.width());
    Numbers out_gradient =
        random_numbers(random, way.rows(), std::int64_t{way.shape.heads} * way.shape.head_size);
    auto workspace = way.workspace();
    const auto loss = [&] {
      Numbers out = zeros(way.rows(), out_gradient.width);
      packed_attention(way.params(qkv), out.rows(), Share{}, workspace);
      return dot(out, out_gradient);
    };
    Numbers gradient = zeros(way.rows(), way.width());
    packed_attention_gradient(way.params(qkv), out_gradient.rows(), gradient.rows(), Share{},
                              workspace);
    expect_slopes(loss, qkv.values, gradient.values, "attention");
  }
}

TEST_P(GradientTest, TheNumberOfThreadsChangesNoBitOfAttention) {
  Random random(5);
  const Attending way;
  Numbers qkv = random_numbers(random, way.rows(), way.width());
  Numbers out_gradient =
      random_numbers(random, way.rows(), std::int64_t{way.shape.heads} * way.shape.head_size);
  const auto gradient_by = [&](int threads) {
    Numbers gradient = zeros(way.rows(), way.width());
    in_parts(threads, [&](Share share) {
      auto workspace = way.workspace();
      packed_attention_gradient(way.params(qkv), out_gradient.rows(), gradient.rows(), share,
                                workspace);
    });
    return gradient.values;
  };
  EXPECT_EQ(gradient_by(1), gradient_by(4));
}

TEST_P(GradientTest, OfCrossEntropyAgreesWithDifferences) {
  Random random(6);
  Numbers logits = random_numbers(random, 3, 37);
  const std::array<TokenId, 3> targets{4, 36, 0};
  const std::array<float, 3> weights{1, 0, 0.25F};
  Numbers gradient = logits;
  std::array<float, 3> losses{};
  cross_entropy({gradient.rows(), targets, weights, losses}, Share{});
  const auto loss = [&] {
    double sum = 0;
    for (std::size_t t = 0; t < 3; ++t) {
      const float* row = logits.rows().row(static_cast<std::int64_t>(t));
      double total = 0;
      for (int v = 0; v < 37; ++v) total += std::exp(double{row[v]});
      sum += weights[t] * (std::log(total) - row[targets[t]]);
    }
    return sum;
  };
  expect_slopes(loss, logits.values, gradient.values, "cross entropy", 1e-4);
  EXPECT_NEAR(losses[0] + 0.25F * losses[2], loss(), 1e-5);
}

TEST_P(GradientTest, ARowThatSeesNothingHasNoProbabilities) {
  std::vector<float> row(5, -kInf);
  EXPECT_EQ(softmax_row(row), -kInf);
  EXPECT_EQ(row, std::vector<float>(5, 0.0F));
}

}  // namespace
}  // namespace weft
