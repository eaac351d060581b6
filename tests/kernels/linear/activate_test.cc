#include "weft/kernels/linear/activate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/linear/linear_fixture.h"

namespace weft {
namespace {

using test::RowBuffer;

class ActivateTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

/// Some numbers in every attribute that a product of this kind can have.
LinearSpec full_spec(bool gated) {
  LinearSpec spec;
  spec.activation = Activation::kSilu;
  spec.scale = 0.75F;
  if (gated) {
    spec.gate_limit = 1.5F;
    spec.up_offset = 1;
    spec.gate_alpha = 1.7F;
  } else {
    spec.soft_cap = 2;
  }
  return spec;
}

/// A product whose residual before the activation is -0, cut as adapted programs cut it, has the
/// bits of the product in one piece.
void expect_same_as_in_one_piece(bool gated, std::int64_t outputs, bool has_residual) {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kInputs = 40;
  const std::int64_t sums_width = gated ? 2 * outputs : outputs;
  const RandomMatrix matrix(DType::kF32, sums_width, kInputs, 5);
  auto weight = PackedWeight::allocate(DType::kF32, outputs, kInputs, gated);
  ASSERT_TRUE(weight);
  weight->fill(0, matrix.source());
  std::vector<float> bias(static_cast<std::size_t>(sums_width), 0.125F);
  RowBuffer in(kRows, kInputs), residual(kRows, outputs), whole(kRows, outputs);
  in.randomize(1);
  residual.randomize(2);
  LinearParams params;
  params.in = in.rows();
  params.weight = &*weight;
  params.bias = bias.data();
  params.spec = full_spec(gated);
  if (has_residual) params.residual = residual.rows();
  params.out = whole.rows();
  test::run(params);

  RowBuffer sums(kRows, sums_width), cut(kRows, outputs);
  for (std::int64_t row = 0; row < kRows; ++row)
    std::fill_n(sums.rows().row(row), sums_width, -0.0F);
  LinearParams apart = params;
  apart.spec = {};
  apart.residual = apart.out = sums.rows();
  apart.gate_apart = gated;
  test::run(apart, 2);
  const ActivateParams rest{sums.rows(), params.spec, gated, params.residual, cut.rows()};
  for (int index = 0; index < 3; ++index) activate(rest, {.index = index, .count = 3});
  for (std::int64_t row = 0; row < kRows; ++row)
    EXPECT_TRUE(test::same_bits(whole.rows().row(row), cut.rows().row(row), outputs));
  EXPECT_TRUE(cut.gaps_are_untouched());
  EXPECT_TRUE(sums.gaps_are_untouched());
}

TEST_P(ActivateTest, ACutProductHasTheBitsOfTheWhole) {
  for (const bool gated : {false, true}) {
    for (const std::int64_t outputs : {1, 16, 37, 300}) {
      for (const bool has_residual : {false, true}) {
        SCOPED_TRACE(testing::Message() << outputs << (gated ? " gated" : ""));
        expect_same_as_in_one_piece(gated, outputs, has_residual);
      }
    }
  }
}

TEST(ActivateShapeTest, WrongShapesAreBugs) {
  RowBuffer in(2, 4), out(2, 4);
  WEFT_EXPECT_BUG(activate({in.rows(), {}, true, {}, out.rows()}, {}), "in does not fit out");
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, ActivateTest, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

}  // namespace
}  // namespace weft
