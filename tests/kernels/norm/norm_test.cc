#include "weft/kernels/norm/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "weft/tests/kernels/norm/norm_reference.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

class NormTest : public OpTest {};
WEFT_OP_TEST(NormTest);

std::vector<double> wanted_row(const NormParams& params, std::int64_t t) {
  const float* in = params.in.row(t);
  std::vector<double> out(in, in + params.in.width);
  test::norm_reference(params.spec, params.weight, params.bias, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] *= params.scale;
    if (params.residual.data != nullptr) out[i] += params.residual.row(t)[i];
    out[i] *= params.sum_scale;
  }
  return out;
}

/// eps of float32 times the greatest number of a result of these tests and the depth of a sum.
double tolerance(std::int64_t width) { return 1e-6 * (4 + std::log2(static_cast<double>(width))); }

TEST_P(NormTest, AgreesWithFloat64AtEveryWidth) {
  Random random(1);
  for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 20, 31, 33, 64, 100, 768, 2049}) {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      Table in(3, width, random, -2, 3);
      Table residual(3, width, random);
      Table out(3, width);
      const auto weight = random.numbers(static_cast<std::size_t>(width));
      const auto bias = random.numbers(static_cast<std::size_t>(width));
      NormParams params{.spec = {.kind = kind, .eps = 1e-5F}, .in = in.rows(), .out = out.rows()};
      for (int form = 0; form < 5; ++form) {
        if (form >= 1) params.weight = weight.data();
        if (form >= 2) {
          params.bias = bias.data();
          params.spec.weight_offset = 1;
          params.scale = 0.5F;
        }
        if (form >= 3) params.residual = residual.rows();
        if (form >= 4) params.sum_scale = -0.3F;
        norm(params, Share{});
        for (std::int64_t t = 0; t < 3; ++t) {
          EXPECT_TRUE(is_close(out.row(t), wanted_row(params, t), tolerance(width)))
              << "width " << width << ", form " << form << ", row " << t;
        }
        EXPECT_TRUE(out.is_untouched_between_rows());
      }
    }
  }
}

TEST_P(NormTest, KeepsTheVarianceOfNumbersFarFromZero) {
  constexpr std::int64_t kWidth = 257;
  Random random(2);
  Table in(1, kWidth, random, 1000, 1001);
  Table out(1, kWidth);
  const NormParams params{
      .spec = {.kind = NormKind::kLayer, .eps = 1e-6F}, .in = in.rows(), .out = out.rows()};
  norm(params, Share{});
  // The mean itself is rounded at 1000: 6e-5, of a deviation of 0.3.
  EXPECT_TRUE(is_close(out.row(0), wanted_row(params, 0), 5e-4));
}

TEST_P(NormTest, GivesARowTheSameBitsAmongOthersInPlaceAndByAnyNumberOfThreads) {
  constexpr std::int64_t kRows = 7;
  constexpr std::int64_t kWidth = 77;
  Random random(3);
  Table in(kRows, kWidth, random);
  Table out(kRows, kWidth);
  NormParams params{
      .spec = {.kind = NormKind::kLayer, .eps = 1e-5F}, .in = in.rows(), .out = out.rows()};
  norm(params, Share{});
  for (const int threads : {2, 3, 16}) {
    Table again(kRows, kWidth);
    params.out = again.rows();
    in_parts(threads, [&](Share share) { norm(params, share); });
    for (std::int64_t t = 0; t < kRows; ++t) {
      EXPECT_TRUE(std::ranges::equal(out.row(t), again.row(t))) << threads << " threads";
    }
  }
  params.in = {in.rows().row(4), 1, kWidth, kWidth};
  params.out = {in.rows().row(4), 1, kWidth, kWidth};
  norm(params, Share{});
  EXPECT_TRUE(std::ranges::equal(out.row(4), in.row(4)));
}

TEST_P(NormTest, MayAddToItsOwnResidual) {
  constexpr std::int64_t kWidth = 19;
  Random random(4);
  Table in(2, kWidth, random);
  Table out(2, kWidth, random);
  NormParams params{
      .spec = {.eps = 1e-5F}, .in = in.rows(), .residual = out.rows(), .out = out.rows()};
  const auto want = wanted_row(params, 1);
  norm(params, Share{});
  EXPECT_TRUE(is_close(out.row(1), want, tolerance(kWidth)));
}

TEST_P(NormTest, NoticesRowsThatDoNotFit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Table in(2, 8);
  Table out(2, 7);
  WEFT_EXPECT_BUG(norm({.in = in.rows(), .out = out.rows()}, Share{}), "norm: out does not fit");
}

}  // namespace
}  // namespace weft
