#include "weft/kernels/gradients/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

class ProductTest : public OpTest {};
WEFT_OP_TEST(ProductTest);

struct Sizes {
  std::int64_t rows, columns, inner;
};

/// Operands of one product, either of which may lie turned, and its output.
struct Product {
  Product(const Sizes& sizes, bool a_turned, bool b_turned, Random& random)
      : a(a_turned ? sizes.inner : sizes.rows, a_turned ? sizes.rows : sizes.inner, random),
        b(b_turned ? sizes.columns : sizes.inner, b_turned ? sizes.inner : sizes.columns, random),
        out(sizes.rows, sizes.columns, random) {
    params.rows = sizes.rows;
    params.columns = sizes.columns;
    params.inner = sizes.inner;
    params.a = {a.rows().data, a.rows().stride, 1};
    if (a_turned) params.a = params.a.turned();
    params.b = {b.rows().data, b.rows().stride, 1};
    if (b_turned) params.b = params.b.turned();
    params.out = out.rows().data;
    params.out_row_stride = out.rows().stride;
  }

  [[nodiscard]] std::vector<double> wanted(std::int64_t row) const {
    std::vector<double> numbers;
    for (std::int64_t j = 0; j < params.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < params.inner; ++k) {
        sum += double{params.a.data[row * params.a.row_stride + k * params.a.column_stride]} *
               params.b.data[k * params.b.row_stride + j * params.b.column_stride];
      }
      const double before = params.adds ? params.out[row * params.out_row_stride + j] : 0.0;
      numbers.push_back(before + params.scale * sum);
    }
    return numbers;
  }

  void compute(int threads) const {
    in_parts(threads, [&](Share share) {
      std::vector<std::byte> workspace(product_workspace_bytes());
      product(params, share, workspace);
    });
  }

  Table a, b, out;
  ProductParams params;
};

TEST_P(ProductTest, AgreesWithFloat64AroundTheEdgesOfTilesAndForTurnedOperands) {
  Random random(1);
  for (const Sizes& sizes : std::vector<Sizes>{{1, 1, 1},
                                               {5, 31, 7},
                                               {6, 32, 8},
                                               {7, 33, 255},
                                               {192, 256, 256},
                                               {193, 257, 257},
                                               {13, 300, 600}}) {
    for (int form = 0; form < 4; ++form) {
      Product each(sizes, (form & 1) != 0, (form & 2) != 0, random);
      each.params.scale = 0.5F;
      each.params.adds = form >= 2;
      std::vector<std::vector<double>> wanted;
      for (std::int64_t row = 0; row < sizes.rows; ++row) wanted.push_back(each.wanted(row));
      each.compute(2);
      const double tolerance = 1e-6 * (4 + std::sqrt(static_cast<double>(sizes.inner)));
      for (std::int64_t row = 0; row < sizes.rows; ++row) {
        ASSERT_TRUE(is_close(each.out.row(row), wanted[static_cast<std::size_t>(row)], tolerance))
            << sizes.rows << " x " << sizes.columns << " x " << sizes.inner << ", form " << form
            << ", row " << row;
      }
      EXPECT_TRUE(each.out.is_untouched_between_rows());
    }
  }
}

TEST_P(ProductTest, TheNumberOfThreadsChangesNoBit) {
  Random random(2);
  Product each({400, 600, 300}, true, false, random);
  each.compute(1);
  const std::vector<float> alone(each.out.row(399).begin(), each.out.row(399).end());
  each.compute(5);
  EXPECT_EQ(alone, std::vector<float>(each.out.row(399).begin(), each.out.row(399).end()));
}

TEST_P(ProductTest, ASumOfNothingIsZeroAndAddsNothing) {
  Random random(3);
  Product each({2, 3, 1}, false, false, random);
  each.params.inner = 0;
  each.params.adds = true;
  const float before = each.out.row(1)[2];
  each.compute(1);
  EXPECT_EQ(each.out.row(1)[2], before);
  each.params.adds = false;
  each.compute(1);
  EXPECT_EQ(each.out.row(1)[2], 0);
}

TEST_P(ProductTest, AWrongParameterIsABug) {
  Random random(4);
  Product each({2, 3, 1}, false, false, random);
  std::vector<std::byte> workspace(product_workspace_bytes());
  WEFT_EXPECT_BUG(product(each.params, Share{}, std::span(workspace).first(64)), "too small");
  each.params.a.data = nullptr;
  WEFT_EXPECT_BUG(product(each.params, Share{}, workspace), "no operand");
}

}  // namespace
}  // namespace weft
